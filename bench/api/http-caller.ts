import { Agent, request } from 'node:http';

export interface RequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests over keep-alive connections, and throws for any status but the expected one. */
export function createCaller(baseUrl: string, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const call = (path: string, expected: number, options: RequestOptions = {}): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${baseUrl}${path}`, {
        agent,
        method: options.method ?? 'GET',
        headers: {
          ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
          ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...options.headers,
        },
      });
      outgoing.once('error', reject);
      outgoing.once('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === expected) resolve();
          else reject(new Error(`${path} returned ${response.statusCode}: ${text.slice(0, 300)}`));
        });
      });
      outgoing.end(options.body === undefined ? undefined : JSON.stringify(options.body));
    });
  return { call, close: () => agent.destroy() };
}
