import { migrate } from '@millrace/platform/db';
import { createIdentityKey, identityPublicKey } from '@millrace/platform/restate/identity-key';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { trialBanner } from './banner.ts';
import { migrationText, prepareDemo } from './demo.ts';
import { DEMO_MODEL, seedModel } from './models.ts';
import { sealingSettings } from './demo-secrets.ts';
import { ensureSecret } from './secret-file.ts';
import { saveTrialSettings } from './trial-settings.ts';

/** All services share one loopback network. The ports are those of deploy/compose/compose.yaml, and defaults of the processes. */
const API_URL = 'http://127.0.0.1:8080';
const WORKER_HEALTH_URL = 'http://127.0.0.1:8081';
const GATEWAY_HEALTH_URL = 'http://127.0.0.1:8083';
const GATEWAY_URL = 'http://127.0.0.1:8090';
const LLAMA_URL = 'http://127.0.0.1:8000';

const POLL_MS = 250;
const PROBE_TIMEOUT_MS = 2_000;
const COMPLETION_TIMEOUT_MS = 30_000;
/** The longest timer of Node. */
const LONG_MS = 2_147_483_647;

const print = (text: string): void => void process.stdout.write(text);

export interface TrialFiles {
  /** Keeps what the trial creates. */
  readonly folder: string;
  /** The roles wait for this file. */
  readonly settingsFile: string;
  /** Restate waits for this file. */
  readonly identityFile: string;
}

/** Prepares the trial, adds its model when the roles are ready, prints the address, and runs until it is stopped. */
export async function runTrial({ folder, settingsFile, identityFile }: TrialFiles): Promise<never> {
  const postgresUrl = setting('MILLRACE_POSTGRES_URL');
  const identityKey = ensureSecret(identityFile, createIdentityKey);
  await waitFor('PostgreSQL', () => canConnect(new URL(postgresUrl)));
  print(migrationText(await migrate(postgresUrl)));
  const sealingFile = join(folder, 'sealing.key');
  const demoFile = join(folder, 'demo.json');
  const { demo, isDemo, settings } = await prepareDemo(postgresUrl, { demoFile, sealingFile, print });
  saveTrialSettings(settingsFile, {
    ...sealingSettings(sealingFile),
    ...settings,
    MILLRACE_RESTATE_IDENTITY_KEYS: identityPublicKey(identityKey),
  });
  await waitFor('the api', () => isHealthy(`${API_URL}/readyz`));
  await waitFor('the worker', () => isHealthy(`${WORKER_HEALTH_URL}/readyz`));
  await waitFor('the gateway', () => isHealthy(`${GATEWAY_HEALTH_URL}/readyz`));
  await waitFor('llama-server', () => isHealthy(`${LLAMA_URL}/health`));
  const llama = { url: LLAMA_URL, model: DEMO_MODEL };
  await seedModel({ apiUrl: API_URL, key: demo.liveKey, llama });
  await waitFor('an answer of the model', () => canComplete(demo.liveKey));
  const addresses = {
    api: setting('MILLRACE_HTTP_PUBLIC_URL'),
    inference: setting('MILLRACE_INFERENCE_PUBLIC_URL'),
  };
  print(trialBanner({ addresses, demo, isDemo }));
  for (;;) await sleep(LONG_MS);
}

function setting(name: string): string {
  const { [name]: value = '' } = process.env;
  if (value === '') throw new Error(`${name} is not set.`);
  return value;
}

/** Waits without a deadline, because a slow machine may take minutes; the user sees what is missing. */
async function waitFor(name: string, isReady: () => Promise<boolean>): Promise<void> {
  if (await isReady()) return;
  print(`Waiting for ${name}.\n`);
  while (!(await isReady())) await sleep(POLL_MS);
}

async function canConnect({ hostname, port }: URL): Promise<boolean> {
  const socket = connect({ host: hostname, port: Number(port), timeout: PROBE_TIMEOUT_MS });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function isHealthy(url: string): Promise<boolean> {
  return isOk(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
}

/** One token, because the gateway is ready before a worker has granted it credit. */
function canComplete(key: string): Promise<boolean> {
  const messages = [{ role: 'user', content: 'Hello!' }];
  return isOk(`${GATEWAY_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: DEMO_MODEL, max_tokens: 1, messages }),
    signal: AbortSignal.timeout(COMPLETION_TIMEOUT_MS),
  });
}

async function isOk(url: string, init: RequestInit): Promise<boolean> {
  try {
    const { ok } = await fetch(url, init);
    return ok;
  } catch {
    return false;
  }
}
