let reading = 0;

/**
 * Counts what a page reads for what it shows at first. Once nothing is read any more, the document
 * says so to those who look at it from outside.
 */
export async function track<Value>(work: Promise<Value>): Promise<Value> {
  reading += 1;
  try {
    return await work;
  } finally {
    reading -= 1;
    // What was read is drawn in between.
    setTimeout(() => {
      if (reading === 0) document.documentElement.dataset["shown"] = "true";
    });
  }
}
