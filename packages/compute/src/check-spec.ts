import { DriverError } from './driver-error.ts';
import type { ExecCommand, MachineHostKey, MachineRef, MachineSpec, PortMapping } from './driver.ts';

// Checks every driver runs before it calls its engine, because names become parts of paths, configuration files and boot data.

const idPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?$/;
const imagePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,253}[A-Za-z0-9])?$/;
const hostnamePattern =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
const pciPattern = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const labelPattern = /^[a-z][a-z0-9_.-]{0,62}$/;
const control = /[\u0000-\u001f\u007f]/;
/** Engines and databases handle lone surrogates differently. */
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

export function checkRef(machine: MachineRef): void {
  assert(
    idPattern.test(machine.externalId),
    'An external id must be at most 63 lower-case letters, digits and dashes.',
  );
  assert(/^org_[0-9A-Z]{26}$/.test(machine.orgId), 'The organisation id is not valid.');
}

export function checkKeys(keys: readonly string[]): void {
  assert(keys.length <= limits.keys, `A machine can have at most ${limits.keys} keys.`);
  for (const key of keys) {
    const isLine = key.trim() !== '' && key.length <= limits.keyChars && !control.test(key) && isText(key);
    assert(isLine, 'A key must be one line of authorized_keys.');
  }
}

export function checkGpus(addresses: readonly string[]): void {
  assert(addresses.length <= limits.gpus, `A machine can have at most ${limits.gpus} GPUs.`);
  assert(new Set(addresses).size === addresses.length, 'The list of GPUs contains an address twice.');
  assert(
    addresses.every((address) => pciPattern.test(address)),
    'A GPU must be given by its PCI address, such as 0000:17:00.0.',
  );
}

export function checkUserData(text: string): void {
  assert(
    text.length <= limits.userDataChars,
    `User data must have at most ${limits.userDataChars} characters.`,
  );
  assert(!text.includes('\0') && isText(text), 'User data must be valid Unicode text without NUL.');
}

export function checkPorts(ports: readonly PortMapping[]): void {
  assert(ports.length <= limits.ports, `A machine can have at most ${limits.ports} ports.`);
  const taken = new Set<string>();
  for (const { internalPort, externalPort, protocol } of ports) {
    assert(isCount(internalPort, 65_535) && isCount(externalPort, 65_535), 'A port must be from 1 to 65535.');
    assert(protocol === 'tcp' || protocol === 'udp', 'A protocol must be tcp or udp.');
    const spot = `${protocol} ${externalPort}`;
    assert(!taken.has(spot), `Two ports of the machine use the external port ${spot}.`);
    taken.add(spot);
  }
}

function checkLabels(labels: Readonly<Record<string, string>>): void {
  const entries = Object.entries(labels);
  assert(entries.length <= limits.labels, `A machine can have at most ${limits.labels} labels.`);
  for (const [key, value] of entries) {
    assert(
      labelPattern.test(key),
      'A label key must be at most 63 lower-case letters, digits and ._-, and begin with a letter.',
    );
    assert(
      value.length <= limits.labelChars && !control.test(value) && isText(value),
      `The label ${key} must be one short line.`,
    );
  }
}

/** Both keys become files of the machine; the private one is a multi-line text in its boot data. */
function checkHostKey({ privateKey, publicKey }: MachineHostKey): void {
  const body =
    /^-----BEGIN OPENSSH PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{1,1000}-----END OPENSSH PRIVATE KEY-----\n?$/;
  assert(body.test(privateKey), 'The host key must be an Ed25519 key in OpenSSH format.');
  assert(
    /^ssh-ed25519 [A-Za-z0-9+/=]{1,200}(?: [!-~]{1,64})?$/.test(publicKey),
    'The public host key must be one line.',
  );
}

export function checkSpec(spec: MachineSpec): void {
  checkRef(spec);
  assert(namePattern.test(spec.nodeName), 'The node name is not valid.');
  const isImage = imagePattern.test(spec.image) && !spec.image.includes('..') && !spec.image.includes('//');
  assert(isImage, 'The image name is not valid.');
  assert(hostnamePattern.test(spec.hostname), 'The hostname is not valid (RFC 1123, lower case).');
  assert(isCount(spec.cpuCount, limits.cpus), `A machine must have 1 to ${limits.cpus} CPUs.`);
  assert(isCount(spec.ramMb, limits.ramMb), `A machine must have 1 to ${limits.ramMb} MB of memory.`);
  assert(isCount(spec.diskGb, limits.diskGb), `A machine must have 1 to ${limits.diskGb} GB of disk.`);
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
    'A command must have a name and at most 65536 characters.',
  );
  const isPlain = command.argv.every((word) => !word.includes('\0') && isText(word));
  assert(isPlain, 'A command must be valid Unicode text without NUL.');
  assert(isCount(command.timeoutMs, 86_400_000), 'The timeout of a command must be from 1 ms to one day.');
  assert(
    isCount(command.maxBytes, 64 * 1_024 * 1_024),
    'The output limit of a command must be from 1 byte to 64 MiB.',
  );
}
