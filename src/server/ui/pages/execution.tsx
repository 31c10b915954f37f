/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Page, type Visit } from "../shell.tsx";

export function ExecutionPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="Execution" module="execution">
      <p class="way">
        <a href={`${visit.prefix}/ui/executions`}>Executions</a>
      </p>
      <div class="head">
        <h1>Execution</h1>
        <span id="badges" class="badges"></span>
        <div id="acts" class="buttons"></div>
      </div>
      <p id="message" class="message"></p>
      <div class="halves">
        <div>
          <section>
            <h2>Log</h2>
            <div id="log"></div>
          </section>
          <section id="output"></section>
          <section id="response"></section>
        </div>
        <div>
          <section>
            <h2>Steps</h2>
            <div id="steps"></div>
          </section>
          <section id="input"></section>
        </div>
      </div>
    </Page>
  );
}
