import { Client } from 'pg';

/** The SQL that `work` sends. The driver sends one statement at a time, so each of them is one round trip. */
export async function statementsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const sent: string[] = [];
  const original = Client.prototype.query;
  const record = function (this: Client, ...args: unknown[]): unknown {
    const [query] = args;
    sent.push(typeof query === 'string' ? query : (query as { text: string }).text);
    return Reflect.apply(original, this, args);
  };
  Client.prototype.query = record as typeof original;
  try {
    await work();
  } finally {
    Client.prototype.query = original;
  }
  return sent;
}
