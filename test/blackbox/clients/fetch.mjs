// Node's fetch as it comes: prints the body and, on a line of its own, the status.
const { method, url, headers, body } = JSON.parse(process.argv[2]);
try {
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  console.log(`${await response.text()}\n${response.status}`);
} catch (error) {
  console.log(`\n${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
