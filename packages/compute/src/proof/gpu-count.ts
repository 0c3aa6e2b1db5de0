import type { SshAnswer } from './ssh-call.ts';

/** Lists the GPUs of a machine by its driver, and its devices where there is no such tool. */
export const listGpus = 'nvidia-smi -L';
export const listDevices = 'ls /dev';

/** What a shell says of a command that it does not find, or finds and cannot run. */
const notThere: ReadonlySet<number | null> = new Set([126, 127]);

const linesThat = (pattern: RegExp, { stdout }: SshAnswer): number =>
  new Set(stdout.split('\n').filter((line) => pattern.test(line.trimEnd()))).size;

/** By the driver, which leaves out a card that fell off the bus although its device is there. Null: ask the devices. */
export function countByDriver(gpus: SshAnswer): number | null {
  // Parts of a GPU are indented lines.
  return gpus.exitCode === 0 ? linesThat(/^GPU \d{1,4}: /, gpus) : null;
}

/** By the devices. Null: they are there and their driver does not answer, as in the middle of a boot. */
export function countByDevices(gpus: SshAnswer, devices: SshAnswer): number | null {
  if (devices.exitCode !== 0) return null;
  const count = linesThat(/^nvidia\d{1,4}$/, devices);
  return count === 0 || notThere.has(gpus.exitCode) ? count : null;
}
