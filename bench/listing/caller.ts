import { Agent, request, type IncomingHttpHeaders } from 'node:http';

export interface ListingResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
}

export interface Caller {
  call(body: unknown, headers?: Readonly<Record<string, string>>): Promise<ListingResponse>;
  read(
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ListingResponse & { readonly body: Buffer }>;
  close(): void;
}

/** Requests machines over keep-alive connections, with gzip like clients that list many. */
export function createListingCaller(baseUrl: string, connections: number): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = (
    body: unknown,
    headers: Readonly<Record<string, string>>,
    keep: Buffer[] | null,
  ): Promise<ListingResponse> =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${baseUrl}/v1/marketplace`, {
        agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip', ...headers },
      });
      outgoing.once('error', reject);
      outgoing.once('response', (response) => {
        const errorBody: Buffer[] | null = response.statusCode === 200 ? null : [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          (errorBody ?? keep)?.push(chunk);
        });
        response.once('error', reject);
        response.once('end', () => {
          const status = response.statusCode ?? 0;
          if (status === 200 || status === 304) resolve({ status, headers: response.headers, bytes });
          else
            reject(new Error(`the listing returned ${status}: ${Buffer.concat(errorBody ?? []).toString()}`));
        });
      });
      outgoing.end(JSON.stringify(body));
    });
  return {
    call: (body, headers = {}) => send(body, headers, null),
    read: async (body, headers = {}) => {
      const chunks: Buffer[] = [];
      const response = await send(body, headers, chunks);
      return { ...response, body: Buffer.concat(chunks) };
    },
    close: () => agent.destroy(),
  };
}
