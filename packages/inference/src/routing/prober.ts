import type { DeploymentEntry, EngineKind } from '@millrace/core/inference';
import { Agent } from 'undici';

/** How engines are asked how they are. */

export interface ProbeResponse {
  readonly status: number;
  readonly text: string;
}

/** One GET at a deployment. Rejects when there was no whole answer. */
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

/**
 * Connections of its own: a probe that waits behind requests would measure the gateway. Their number is not limited,
 * so that no probe waits behind that of another deployment with the same origin.
 */
export function createProber(): Prober {
  // No HTTP/2: undici and Node never return from sending if the server dies with requests under way.
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
        if (bytes > MAX_RESPONSE_BYTES) throw new Error(`${path} of ${entry.id} answers without end.`);
        chunks.push(part);
      }
      return { status: response.statusCode, text: Buffer.concat(chunks).toString('utf8') };
    },
    close: () => {
      void agent.destroy();
    },
  };
}

/** Where an engine says that it is well; null: it runs inside the gateway. */
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

/**
 * What the status of that page means: well, not well, or null where the page does not exist. Our own engines have it, and it
 * is well only if it says so. Other servers may not, or keep it to themselves; then only an error of theirs counts.
 */
export function isHealthyStatus(engine: EngineKind, status: number): boolean | null {
  if (status >= 200 && status < 300) return true;
  const mustHave = engine === 'vllm' || engine === 'sglang' || engine === 'llama.cpp';
  return mustHave || status >= 500 ? false : null;
}
