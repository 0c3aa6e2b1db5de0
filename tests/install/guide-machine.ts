import { chatModel, llamaCommand, natsCommand, restateCommand } from '@millrace/services';
import { eventually } from '@millrace/testing';
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { openContainerHost, type ContainerHost } from './container-host.ts';
import { importDebian, startMachine, type Machine } from './machine.ts';
import { releaseFiles } from './release-files.ts';

export const SLOW_MS = 540_000;

/** A Debian machine on which a test follows a guide, with the files that its reader has downloaded. */
export interface GuideMachine extends Machine {
  readonly host: ContainerHost;
  /** The folder of this machine in which its scripts run. */
  readonly shared: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openGuideMachine(): Promise<GuideMachine> {
  const host = await openContainerHost();
  const shared = await downloadFiles(host);
  const machine = await startMachine(host, { name: 'machine', shared, image: await importDebian(host) });
  await machine.must('echo 127.0.0.1 cloud.example.com >> /etc/hosts');
  return { ...machine, host, shared, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

/** A folder with the files of a release and the engines that are no packages of Debian, as the reader of a guide downloads them. */
export async function downloadFiles(host: ContainerHost): Promise<string> {
  const shared = path.join(host.folder, 'files');
  mkdirSync(shared);
  for (const file of await releaseFiles(host.folder))
    copyFileSync(file, path.join(shared, path.basename(file)));
  copyFileSync(natsCommand('').file, path.join(shared, 'nats-server'));
  copyFileSync(restateCommand('').file, path.join(shared, 'restate-server'));
  signAsReader(shared);
  return shared;
}

/** Signs with a key of the test as the publisher does with theirs. */
function signAsReader(folder: string): void {
  const [publicKey, secretKey] = ['millrace.pub', 'millrace.key'].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  execFileSync('minisign', ['-G', '-W', '-f', '-p', publicKey, '-s', secretKey], { stdio: 'ignore' });
  execFileSync('minisign', ['-S', '-s', secretKey, '-m', path.join(folder, 'SHA256SUMS')], {
    stdio: 'ignore',
  });
}

/** Printed with the results of the tests, and not compared with a limit, because it depends on the machine. */
export const report = (line: string): void => void process.stderr.write(`${line.trim()}\n`);

/** The commands of a page in docs/guides. */
export interface Guide {
  /** The commands below a heading, without those that need the internet or another situation: they begin with a comment. */
  readonly commandsOf: (heading: string) => readonly string[];
  /** Runs the commands below a heading, and returns what they printed. */
  readonly follow: (machine: Machine, heading: string) => Promise<string>;
}

export function readGuide(name: string): Guide {
  const text = readFileSync(path.join(import.meta.dirname, '../../docs/guides', name), 'utf8');
  const commandsOf: Guide['commandsOf'] = (heading) => {
    const section = text.split(/^(?=## )/m).find((each) => each.startsWith(`## ${heading}\n`));
    const blocks = [...(section ?? '').matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
    if (blocks.length === 0) throw new Error(`There are no commands below ${heading}.`);
    return blocks.filter((block) => !block.startsWith('# '));
  };
  const follow: Guide['follow'] = async (machine, heading) => {
    const printed: string[] = [];
    const start = performance.now();
    for (const block of commandsOf(heading)) printed.push(await machine.must(block));
    report(`${heading}: ${((performance.now() - start) / 1_000).toFixed(1)} s`);
    return printed.join('');
  };
  return { commandsOf, follow };
}

/** Waits until the public address responds. */
export async function waitUntilReady(machine: Machine): Promise<void> {
  const request = 'curl -fsS --cacert /etc/millrace/ca.pem https://cloud.example.com/readyz';
  await eventually({ what: 'the public address', timeoutMs: SLOW_MS, intervalMs: 200 }, () =>
    machine.must(request),
  );
}

export interface LlamaSettings {
  readonly port: number;
  readonly flags?: readonly string[];
}

/** Starts llama-server on the machine, also after a reboot. Its folder has its own C library, so it runs on any Debian. */
export async function startLlama(
  { must, shared }: Pick<GuideMachine, 'must' | 'shared'>,
  { port, flags = [] }: LlamaSettings,
): Promise<void> {
  const command = llamaCommand({ port, apiKeyFile: '' });
  const top = command.file.slice(0, command.file.indexOf('/usr/lib/'));
  const model = path.basename(chatModel.file);
  if (!existsSync(path.join(shared, model))) {
    cpSync(chatModel.file, path.join(shared, model));
    // Its links are relative.
    cpSync(top, path.join(shared, 'llama.cpp'), { recursive: true, verbatimSymlinks: true });
  }
  const place = (text: string): string => text.replaceAll(top, '/root/files/llama.cpp');
  const address = ['--host', '127.0.0.1', '--port', String(port)];
  const [libraryFlag = '', libraries = '', server = ''] = command.args;
  const words = [command.file, libraryFlag, libraries, server].map(place);
  const start = [...words, '--model', `/root/files/${model}`, ...address, ...flags].join(' ');
  await must(`
    printf '[Service]\nWorkingDirectory=%s\nExecStart=%s\n[Install]\nWantedBy=multi-user.target\n' \
      ${place(command.folder)} '${start}' > /etc/systemd/system/llama.service
    systemctl enable --now llama
    until curl -fsS http://127.0.0.1:${String(port)}/health; do sleep 0.2; done`);
}
