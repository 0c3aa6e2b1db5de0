/** Program of the trial with compose: without an argument prepares everything; with one runs that role when it is prepared. */

import { productFolder } from '@millrace/platform/release';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { readTrialSettings } from './trial-settings.ts';

const roles = ['api', 'worker', 'gateway'];
const POLL_MS = 200;
const EXIT_USAGE = 64;
/** Volumes of deploy/compose/compose.yaml. Only this program and Restate mount the second one. */
const folder = '/var/lib/millrace/trial';
const settingsFile = join(folder, 'settings.json');
const identityFile = '/var/lib/millrace/restate/identity.pem';

/** Signals have no default action in the first process of a container. */
const stop = (): never => process.exit(0);
const signals = ['SIGTERM', 'SIGINT'] as const;
for (const signal of signals) process.on(signal, stop);

const [role, ...others] = process.argv.slice(2);
if (role === undefined) {
  const { runTrial } = await import('./run-trial.ts');
  await runTrial({ folder, settingsFile, identityFile });
} else if (others.length === 0 && roles.includes(role)) {
  await startRole(role);
} else {
  process.stderr.write(`Usage: trial.js [${roles.join('|')}]\n`);
  process.exitCode = EXIT_USAGE;
}

/** The environment overrides the settings of the trial. */
async function startRole(name: string): Promise<void> {
  let settings = readTrialSettings(settingsFile);
  while (settings === null) {
    await sleep(POLL_MS);
    settings = readTrialSettings(settingsFile);
  }
  for (const [key, value] of Object.entries(settings)) process.env[key] ??= value;
  for (const signal of signals) process.off(signal, stop);
  await import(pathToFileURL(join(productFolder, 'lib', `${name}.js`)).href);
}
