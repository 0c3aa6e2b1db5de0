import { msToSeconds } from '@millrace/platform/money';
import { userDataLog } from '../user-data.ts';
import { gpuNameOf, gpuUuidOf, type MockNode } from './layout.ts';
import { sshUser, stateAt, visibleGpus, type MockMachine } from './mock-machine.ts';

/** The output of a command, after `waitMs`. */
export interface CommandOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly waitMs: number;
}

export interface CommandContext {
  readonly machine: MockMachine;
  readonly node: MockNode;
  readonly seed: string;
  readonly nowMs: number;
  /** Limit of the output. */
  readonly maxBytes: number;
}

type Command = (words: readonly string[], inside: CommandContext) => CommandOutcome;

const succeedWith = (stdout: string): CommandOutcome => ({ exitCode: 0, stdout, stderr: '', waitMs: 0 });
const failWith = (exitCode: number, stderr: string): CommandOutcome => {
  return { exitCode, stdout: '', stderr, waitMs: 0 };
};

/** Commands respond from the record and never start a process on the host; any other command is not found. */
const commands: Readonly<Record<string, Command>> = {
  true: () => succeedWith(''),
  false: () => failWith(1, ''),
  echo: (words) => succeedWith(`${words.join(' ')}\n`),
  hostname: (_, { machine }) => succeedWith(`${machine.hostname}\n`),
  whoami: () => succeedWith(`${sshUser}\n`),
  nproc: (_, { machine }) => succeedWith(`${machine.cpuCount}\n`),
  uname: (words, { machine }) =>
    succeedWith(words[0] === '-a' ? `Linux ${machine.hostname} 6.8.0-mock x86_64 GNU/Linux\n` : 'Linux\n'),
  uptime: (_, { machine, seed, nowMs }) => {
    const { onSinceMs } = stateAt(machine, seed, nowMs);
    return succeedWith(`up ${Math.floor(msToSeconds(nowMs - (onSinceMs ?? nowMs)))} seconds\n`);
  },
  ls: (words, inside) => {
    const path = words.findLast((word) => !word.startsWith('-')) ?? '/';
    const names = folders(inside).get(path.length > 1 ? path.replace(/\/$/, '') : path);
    return names === undefined
      ? failWith(2, `ls: cannot access '${path}': No such file or directory\n`)
      : succeedWith(names.map((name) => `${name}\n`).join(''));
  },
  cat: (words, inside) => {
    const known = files(inside);
    const missing = words.find((path) => !known.has(path));
    if (missing !== undefined) return failWith(1, `cat: ${missing}: No such file or directory\n`);
    let text = '';
    for (const path of words) if (text.length < inside.maxBytes) text += known.get(path) ?? '';
    return succeedWith(text);
  },
  seq: (words, { maxBytes }) => {
    const [from, to] = words.length === 1 ? [1, Number(words[0])] : [Number(words[0]), Number(words[1])];
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return failWith(1, 'seq: not a number\n');
    let text = '';
    for (let at = from; at <= to && text.length < maxBytes; at += 1) text += `${at}\n`;
    return succeedWith(text);
  },
  sleep: (words) => {
    const seconds = Number(words[0]);
    return seconds >= 0 && seconds <= 86_400
      ? { ...succeedWith(''), waitMs: seconds * 1_000 }
      : failWith(1, 'sleep: not a time\n');
  },
  'nvidia-smi': (words, { machine, node, seed }) => {
    const gpus = visibleGpus(machine);
    if (machine.gpuPciAddresses.length === 0) return failWith(127, 'nvidia-smi: command not found\n');
    if (words[0] !== '-L') return failWith(2, 'This mock supports only nvidia-smi -L.\n');
    const lines = gpus.map(
      (address, index) => `GPU ${index}: ${gpuNameOf(node)} (UUID: ${gpuUuidOf(seed, node.name, address)})\n`,
    );
    return succeedWith(lines.join(''));
  },
};

export function runCommand(argv: readonly string[], inside: CommandContext): CommandOutcome {
  const [name = '', ...words] = argv;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const outcome = command?.(words, inside) ?? failWith(127, `${name.slice(0, 200)}: command not found\n`);
  return {
    ...outcome,
    stdout: firstBytes(outcome.stdout, inside.maxBytes),
    stderr: firstBytes(outcome.stderr, inside.maxBytes),
  };
}

/** Splits a line into plain and quoted words; null if it needs any other shell feature. */
export function splitLine(line: string): string[] | null {
  const words: string[] = [];
  let rest = line.trim();
  while (rest !== '') {
    const word = /^(?:[^\s'"|&;<>`$()\\]+|'[^']*'|"[^"`$\\]*")+/.exec(rest)?.[0];
    if (word === undefined) return null;
    words.push(
      word.replaceAll(
        /'([^']*)'|"([^"]*)"/g,
        (_, single?: string, double?: string) => single ?? double ?? '',
      ),
    );
    rest = rest.slice(word.length);
    if (rest !== '' && !/^\s/.test(rest)) return null;
    rest = rest.trimStart();
  }
  return words;
}

/** Truncates to whole characters. */
function firstBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes)).replace(/(?<!\uFFFD)\uFFFD+$/, '');
}

/** The end of the text in whole characters. */
export function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  return new TextDecoder().decode(bytes.subarray(bytes.length - maxBytes)).replace(/^\uFFFD+/, '');
}

function folders({ machine }: CommandContext): ReadonlyMap<string, readonly string[]> {
  const gpus = visibleGpus(machine).map((_, index) => `nvidia${index}`);
  const control = gpus.length > 0 ? ['nvidia-uvm', 'nvidiactl'] : [];
  const inDev = ['console', 'full', 'null', ...gpus, ...control, 'random', 'urandom', 'vda', 'vda1', 'zero'];
  return new Map([
    ['/', ['bin', 'dev', 'etc', 'home', 'proc', 'root', 'tmp', 'usr', 'var']],
    ['/dev', inDev],
    ['/etc', ['hostname', 'os-release']],
    ['/proc', ['cpuinfo', 'meminfo']],
  ]);
}

/** Output of user data that the mock does not run. */
const userDataLogLine = (name: string): string =>
  `A mock machine runs no programs: user data ${name} would run now.\n`;

function files({ machine }: CommandContext): ReadonlyMap<string, string> {
  const processors = Array.from({ length: machine.cpuCount }, (_, index) => `processor\t: ${index}\n`);
  return new Map([
    ['/etc/hostname', `${machine.hostname}\n`],
    ['/etc/os-release', `NAME="Millrace mock"\nPRETTY_NAME="${machine.image} (simulated)"\n`],
    ['/proc/cpuinfo', processors.join('')],
    ['/proc/meminfo', `MemTotal: ${machine.ramMb * 1_024} kB\n`],
    ...(machine.userDataRuns.length > 0
      ? [[userDataLog, machine.userDataRuns.map(userDataLogLine).join('')] as const]
      : []),
    [`/home/${sshUser}/.ssh/authorized_keys`, machine.sshKeys.map((key) => `${key}\n`).join('')],
  ]);
}
