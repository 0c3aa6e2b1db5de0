import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mediaCommand, mediaModels, type MediaServer } from '@millrace/services';
import { freePort } from '../network/ports.ts';
import { startCommand, type TestProcess } from '../processes/processes.ts';

/** A real image or speech engine for one test, which may be killed. */
export interface TestMedia {
  readonly url: string;
  readonly port: number;
  /** Required for everything except `/health`. */
  readonly apiKey: string;
  readonly model: string;
  readonly process: TestProcess;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startMedia(server: MediaServer): Promise<TestMedia> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = await mkdtemp(path.join(tmpdir(), `millrace-${server}-`));
  const apiKey = randomBytes(24).toString('hex');
  const apiKeyFile = path.join(folder, 'api-key');
  await writeFile(apiKeyFile, apiKey, { mode: 0o600 });
  const env = { PATH: process.env['PATH'] ?? '' };
  const command = mediaCommand(server, { port, apiKeyFile });
  const started = await startCommand({ name: server, ...command, env, readyUrl: `${url}/health` });
  return {
    url,
    port,
    apiKey,
    model: mediaModels[server],
    process: started,
    [Symbol.asyncDispose]: async () => {
      await started.crash();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
