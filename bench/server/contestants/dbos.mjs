// DBOS: a workflow whose id is the key, with one transaction of its Postgres data source. A second call with the same
// id waits for the first and gets its result.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { PostgresDataSource } from "@dbos-inc/postgres-datasource";
import { transfer } from "../transfer.mjs";

export async function open({ url, connections }) {
  const { hostname: host, port, username, pathname } = new URL(url);
  const options = { host, port: Number(port), username, database: pathname.slice(1), max: connections, onnotice() {} };
  await PostgresDataSource.initializeDBOSSchema(options);
  const source = new PostgresDataSource("bank", options);
  const query = async (text, values) => ({ rows: await PostgresDataSource.client.unsafe(text, values) });
  /** Keys whose effect ran, until somebody is told. */
  const executed = new Set();
  const effect = source.registerTransaction(
    async (key, body) => {
      executed.add(key);
      return transfer(query, key, body);
    },
    { name: "transfer", isolationLevel: "READ COMMITTED" },
  );
  const workflow = DBOS.registerWorkflow((key, body) => effect(key, body), { name: `transfers-${connections}` });
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    // With a single one it waits for itself.
    systemDatabasePoolSize: Math.max(4, connections),
    logLevel: "error",
    runAdminServer: false,
  });
  await DBOS.launch();
  return {
    async run(key, body) {
      await DBOS.withNextWorkflowID(key, () => workflow(key, body));
      return executed.delete(key) ? "executed" : "replayed";
    },
    close: () => DBOS.shutdown({ deregister: true }),
  };
}
