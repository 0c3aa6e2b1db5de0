import type { SshCommandResult } from './ssh-connection.ts';

/** The driver's tool, or the device files where it is not installed. */
export const listGpusCommand = 'nvidia-smi -L';
export const listDevicesCommand = 'ls /dev';

/** Exit codes of a shell for a command that does not exist or cannot run. */
const commandNotFound: ReadonlySet<number | null> = new Set([126, 127]);

const countMatchingLines = (pattern: RegExp, { stdout }: SshCommandResult): number =>
  new Set(stdout.split('\n').filter((line) => pattern.test(line.trimEnd()))).size;

/** The driver omits a card that fell off the bus although its device file exists. Null: count the devices. */
export function countByDriver(gpus: SshCommandResult): number | null {
  // MIG instances are indented lines.
  return gpus.exitCode === 0 ? countMatchingLines(/^GPU \d{1,4}: /, gpus) : null;
}

/** Null: devices exist and the driver does not respond, as during a boot. */
export function countByDevices(gpus: SshCommandResult, devices: SshCommandResult): number | null {
  if (devices.exitCode !== 0) return null;
  const count = countMatchingLines(/^nvidia\d{1,4}$/, devices);
  return count === 0 || commandNotFound.has(gpus.exitCode) ? count : null;
}
