import type { DeploymentEntry, EngineKind } from '@millrace/core/inference';
import { Agent } from 'undici';

/** HTTP requests for health and metrics of engines. */

export interface ProbeResponse {
  readonly status: number;
  readonly text: string;
}

/** Sends one GET to a deployment. Rejects without a complete response. */
export type SendProbe = (
  entry: Pick<DeploymentEntry, 'id' | 'address' | 'apiKey'>,
  path: string,
  signal: AbortSignal,
) => Promise<ProbeResponse>;

export interface Prober {
  readonly probe: SendProbe;
  close(): void;
}

export const METRICS_PATH = '/metrics';

const MAX_RESPONSE_BYTES = 2_000_000;

/** Own connections without a limit, so that a probe waits neither behind requests nor behind other probes. */
export function createProber(): Prober {
  // No HTTP/2: undici never settles a request if the server dies while it is in flight.
  const agent = new Agent({ allowH2: false, pipelining: 1, keepAliveTimeout: 10_000 });
  return {
    probe: async (entry, path, signal) => {
      const headers = entry.apiKey === null ? {} : { authorization: `Bearer ${entry.apiKey}` };
      const url = new URL(`${entry.address.replace(/(?<!\/)\/+$/, '')}${path}`);
      const response = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        headers,
        signal,
      });
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const part of response.body as AsyncIterable<Buffer>) {
        bytes += part.length;
        if (bytes > MAX_RESPONSE_BYTES)
          throw new Error(`${path} of ${entry.id} sent a response that is too large.`);
        chunks.push(part);
      }
      return { status: response.statusCode, text: Buffer.concat(chunks).toString('utf8') };
    },
    close: () => {
      void agent.destroy();
    },
  };
}

/** Returns null for the mock, which runs inside the gateway. */
export function healthPath(engine: EngineKind): string | null {
  switch (engine) {
    case 'mock':
      return null;
    case 'automatic1111':
      return '/internal/ping';
    case 'comfyui':
      return '/system_stats';
    default:
      return '/health';
  }
}

/** Null: no health page. vLLM, SGLang and llama.cpp always have one; other servers are unhealthy only with 5xx. */
export function isHealthyStatus(engine: EngineKind, status: number): boolean | null {
  if (status >= 200 && status < 300) return true;
  const mustHave = engine === 'vllm' || engine === 'sglang' || engine === 'llama.cpp';
  return mustHave || status >= 500 ? false : null;
}
