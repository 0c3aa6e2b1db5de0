import { Agent, request } from 'node:http';

export interface RequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests over connections that stay open, and throws for any status but the expected one. */
export function createCaller(baseUrl: string, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const call = (path: string, expected: number, ask: RequestOptions = {}): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${baseUrl}${path}`, {
        agent,
        method: ask.method ?? 'GET',
        headers: {
          ...(ask.key === undefined ? {} : { authorization: `Bearer ${ask.key}` }),
          ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...ask.headers,
        },
      });
      outgoing.once('error', reject);
      outgoing.once('response', (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.once('error', reject);
        answer.once('end', () => {
          if (answer.statusCode === expected) resolve();
          else reject(new Error(`${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`));
        });
      });
      outgoing.end(ask.body === undefined ? undefined : JSON.stringify(ask.body));
    });
  return { call, close: () => agent.destroy() };
}
