import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chatModel, llamaCommand } from '@millrace/services';
import { freePort } from '../network/ports.ts';
import { startCommand, type TestProcess } from '../processes/processes.ts';

export interface LlamaSettings {
  readonly name?: string;
  /** Concurrent requests; 4 by default. The `n` of a request must not exceed it. */
  readonly parallel?: number;
  /** The maximum of prompt and completion tokens per slot. */
  readonly contextPerSlot?: number;
  /** The size of the prompt cache besides the slots, in MiB. With 0 only the slots cache prompts. */
  readonly cacheRamMib?: number;
  readonly args?: readonly string[];
  /** PEM files. With them the server requires TLS. */
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
}

/** A llama-server for one test, with the tiny chat model. It starts in a tenth of a second. */
export interface TestLlama {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  /** Required for everything except `/health` and `/v1/models`. */
  readonly apiKey: string;
  readonly model: string;
  readonly contextLength: number;
  output(): string;
  running(): boolean;
  /** kill -9. */
  crash(): Promise<void>;
  /** Restarts on the same port with an empty cache. */
  restart(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Metrics by the engine's names: `llamacpp:requests_processing`. */
  metrics(): Promise<ReadonlyMap<string, number>>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startLlama(settings: LlamaSettings = {}): Promise<TestLlama> {
  const name = settings.name ?? 'llama';
  const { parallel = 4, contextPerSlot = chatModel.contextLength, tls } = settings;
  const port = await freePort();
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const apiKey = randomBytes(24).toString('hex');
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-llama-'));
  const apiKeyFile = path.join(folder, 'api-key');
  await writeFile(apiKeyFile, `${apiKey}\n`, { mode: 0o600 });
  const cacheRam = settings.cacheRamMib === undefined ? [] : ['--cache-ram', String(settings.cacheRamMib)];
  const encryption =
    tls === undefined ? [] : ['--ssl-cert-file', tls.certificateFile, '--ssl-key-file', tls.keyFile];
  const args = [...cacheRam, ...encryption, ...(settings.args ?? [])];
  const command = llamaCommand({ port, apiKeyFile, parallel, contextPerSlot, args });
  const start = (): Promise<TestProcess> =>
    startCommand({ name, ...command, env: {}, readyUrl: `${url}/health` });
  let server = await start();
  return {
    name,
    url,
    port,
    apiKey,
    model: chatModel.name,
    contextLength: contextPerSlot,
    output: () => server.output(),
    running: () => server.running(),
    crash: () => server.crash(),
    restart: async () => {
      await server.crash();
      server = await start();
    },
    freeze: () => server.freeze(),
    thaw: () => server.thaw(),
    metrics: () => readMetrics(url, apiKey),
    [Symbol.asyncDispose]: async () => {
      await server.crash();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function readMetrics(url: string, apiKey: string): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}/metrics responded ${response.status}: ${text.slice(0, 200)}`);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}
