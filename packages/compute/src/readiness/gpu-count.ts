import type { SshCommandResult } from './ssh-connection.ts';

/** Lists the GPUs of a machine by its driver, and its devices where there is no such tool. */
export const listGpusCommand = 'nvidia-smi -L';
export const listDevicesCommand = 'ls /dev';

/** What a shell says of a command that it does not find, or finds and cannot run. */
const commandNotFound: ReadonlySet<number | null> = new Set([126, 127]);

const countMatchingLines = (pattern: RegExp, { stdout }: SshCommandResult): number =>
  new Set(stdout.split('\n').filter((line) => pattern.test(line.trimEnd()))).size;

/** By the driver, which leaves out a card that fell off the bus although its device is there. Null: ask the devices. */
export function countByDriver(gpus: SshCommandResult): number | null {
  // Parts of a GPU are indented lines.
  return gpus.exitCode === 0 ? countMatchingLines(/^GPU \d{1,4}: /, gpus) : null;
}

/** By the devices. Null: they are there and their driver does not answer, as in the middle of a boot. */
export function countByDevices(gpus: SshCommandResult, devices: SshCommandResult): number | null {
  if (devices.exitCode !== 0) return null;
  const count = countMatchingLines(/^nvidia\d{1,4}$/, devices);
  return count === 0 || commandNotFound.has(gpus.exitCode) ? count : null;
}
