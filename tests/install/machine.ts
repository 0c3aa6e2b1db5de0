import { debianRootfs, requireRootfs } from '@millrace/release';
import { importRoot, type ContainerHost, type Ran } from './container-host.ts';

/** Debian with systemd in a container, on which a guide can be followed. */
export interface Machine {
  /** Runs a shell script as root, from the shared folder. */
  readonly run: (script: string) => Promise<Ran>;
  /** The same, and throws if it fails. Returns what it printed. */
  readonly must: (script: string) => Promise<string>;
}

export interface MachineOptions {
  readonly name: string;
  /** A folder that the machine can read. */
  readonly shared: string;
  readonly image: string;
  /** Of `podman run`. Without them, the machine has no network besides loopback. */
  readonly flags?: readonly string[];
}

const SHARED = '/root/files';

/** An image of Debian with systemd, and with the downloaded packages that guides install. */
export async function importDebian(host: ContainerHost): Promise<string> {
  const image = 'localhost/debian-machine:1';
  const config = ['--cmd', '["/sbin/init"]', '--stop-signal', 'SIGRTMIN+3'];
  await importRoot(host, image, requireRootfs(debianRootfs().machine), config);
  return image;
}

/** Starts the machine and waits until systemd has started everything. */
export async function startMachine(host: ContainerHost, options: MachineOptions): Promise<Machine> {
  const { name, shared, image, flags = ['--network=none'] } = options;
  const words = ['--detach', '--name', name, '--systemd=always', ...flags];
  await host.must('podman', 'run', ...words, '--volume', `${shared}:${SHARED}`, image);
  const run: Machine['run'] = (script) =>
    host.run('podman', 'exec', '--workdir', SHARED, name, 'bash', '-euc', script);
  const must: Machine['must'] = async (script) => {
    const { code, stdout, stderr } = await run(script);
    if (code === 0) return stdout;
    throw new Error(`exited with ${String(code)}:\n${script}\n${stdout}\n${stderr}`);
  };
  await waitUntilBooted({ must });
  return { run, must };
}

export async function waitUntilBooted({ must }: Pick<Machine, 'must'>): Promise<void> {
  await must(
    'until systemctl is-system-running 2>/dev/null | grep -qE "running|degraded"; do sleep 0.2; done',
  );
}
