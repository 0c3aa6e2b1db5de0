import { DriverError } from './driver-error.ts';
import type { ExecCommand, MachineHostKey, MachineRef, MachineSpec, PortMapping } from './driver.ts';

// What every driver refuses before it speaks to its engine. Names end up in paths, in configuration files and in the
// first boot of a machine, so what could mean something else there never leaves this process.

const idPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?$/;
const imagePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,253}[A-Za-z0-9])?$/;
const hostnamePattern =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
const pciPattern = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const labelPattern = /^[a-z][a-z0-9_.-]{0,62}$/;
const control = /[\u0000-\u001f\u007f]/;
/** Without half characters, of which every engine and database makes something else. */
const isText = (value: string): boolean => value.isWellFormed();

const limits = {
  cpus: 4_096,
  ramMb: 64 * 1_024 * 1_024,
  diskGb: 1_024 * 1_024,
  gpus: 64,
  keys: 1_000,
  keyChars: 16_384,
  ports: 256,
  labels: 64,
  labelChars: 1_024,
  userDataChars: 65_536,
  argvChars: 65_536,
};

function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new DriverError('refused', what);
}

const isCount = (value: number, highest: number): boolean =>
  Number.isSafeInteger(value) && value >= 1 && value <= highest;

/** Refuses a reference that could not be one of ours. Every method starts with it. */
export function checkRef(machine: MachineRef): void {
  assert(
    idPattern.test(machine.externalId),
    'An external id is at most 63 lower-case letters, digits and dashes.',
  );
  assert(/^org_[0-9A-Z]{26}$/.test(machine.orgId), 'The organisation is not an id of one.');
}

export function checkKeys(keys: readonly string[]): void {
  assert(keys.length <= limits.keys, `A machine has at most ${limits.keys} keys.`);
  for (const key of keys) {
    const isLine = key.trim() !== '' && key.length <= limits.keyChars && !control.test(key) && isText(key);
    assert(isLine, 'A key is one line of authorized_keys.');
  }
}

export function checkGpus(addresses: readonly string[]): void {
  assert(addresses.length <= limits.gpus, `A machine has at most ${limits.gpus} GPUs.`);
  assert(new Set(addresses).size === addresses.length, 'A GPU is named twice.');
  assert(
    addresses.every((address) => pciPattern.test(address)),
    'A GPU is named by its PCI address, such as 0000:17:00.0.',
  );
}

export function checkUserData(text: string): void {
  assert(text.length <= limits.userDataChars, `User data has at most ${limits.userDataChars} characters.`);
  assert(!text.includes('\0') && isText(text), 'User data is text, without a NUL in it.');
}

export function checkPorts(ports: readonly PortMapping[]): void {
  assert(ports.length <= limits.ports, `A machine has at most ${limits.ports} ports.`);
  const taken = new Set<string>();
  for (const { internalPort, externalPort, protocol } of ports) {
    assert(isCount(internalPort, 65_535) && isCount(externalPort, 65_535), 'A port is from 1 to 65535.');
    assert(protocol === 'tcp' || protocol === 'udp', 'A protocol is tcp or udp.');
    const spot = `${protocol} ${externalPort}`;
    assert(!taken.has(spot), `Two ports of the machine would be reached at ${spot}.`);
    taken.add(spot);
  }
}

function checkLabels(labels: Readonly<Record<string, string>>): void {
  const entries = Object.entries(labels);
  assert(entries.length <= limits.labels, `A machine has at most ${limits.labels} labels.`);
  for (const [key, value] of entries) {
    assert(labelPattern.test(key), 'A label has a key that is not one.');
    assert(
      value.length <= limits.labelChars && !control.test(value) && isText(value),
      `The label ${key} is not one short line.`,
    );
  }
}

/** Both halves become files of the machine, and the private one a text of several lines in its boot data. */
function checkHostKey({ privateKey, publicKey }: MachineHostKey): void {
  const body =
    /^-----BEGIN OPENSSH PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{1,1000}-----END OPENSSH PRIVATE KEY-----\n?$/;
  assert(body.test(privateKey), 'The host key is not an Ed25519 key in the form of OpenSSH.');
  assert(
    /^ssh-ed25519 [A-Za-z0-9+/=]{1,200}(?: [!-~]{1,64})?$/.test(publicKey),
    'The public host key is not one line.',
  );
}

export function checkSpec(spec: MachineSpec): void {
  checkRef(spec);
  assert(namePattern.test(spec.nodeName), 'The name of the node is not a name.');
  const isImage = imagePattern.test(spec.image) && !spec.image.includes('..') && !spec.image.includes('//');
  assert(isImage, 'The name of the image is not a name.');
  assert(hostnamePattern.test(spec.hostname), 'The hostname is not one (RFC 1123, lower case).');
  assert(isCount(spec.cpuCount, limits.cpus), `A machine has 1 to ${limits.cpus} CPUs.`);
  assert(isCount(spec.ramMb, limits.ramMb), `A machine has 1 to ${limits.ramMb} MB of memory.`);
  assert(isCount(spec.diskGb, limits.diskGb), `A machine has 1 to ${limits.diskGb} GB of disk.`);
  checkGpus(spec.gpuPciAddresses);
  checkKeys(spec.sshKeys);
  checkPorts(spec.ports);
  checkLabels(spec.labels);
  checkUserData(spec.userData ?? '');
  if (spec.hostKey !== undefined) checkHostKey(spec.hostKey);
}

export function checkArgv(command: ExecCommand): void {
  const chars = command.argv.reduce((sum, word) => sum + word.length + 1, 0);
  assert(
    (command.argv[0] ?? '') !== '' && chars <= limits.argvChars,
    'A command has a name and is not endless.',
  );
  const isPlain = command.argv.every((word) => !word.includes('\0') && isText(word));
  assert(isPlain, 'A command is text, without a NUL in it.');
  assert(isCount(command.timeoutMs, 86_400_000), 'A command has from 1 ms to a day.');
  assert(isCount(command.maxBytes, 64 * 1_024 * 1_024), 'A command may answer up to 64 MiB.');
}
