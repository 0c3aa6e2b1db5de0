import { debianRootfs, requireRootfs } from '@millrace/release';
import { importRoot, type ContainerHost, type Ran } from './container-host.ts';

/** Debian with systemd in a container, on which a guide can be followed. It has no network besides loopback. */
export interface Machine {
  /** Runs a shell script as root, from the shared folder. */
  readonly run: (script: string) => Promise<Ran>;
  /** The same, and throws if it fails. Returns what it printed. */
  readonly must: (script: string) => Promise<string>;
}

const IMAGE = 'localhost/machine:1';
const NAME = 'machine';
const SHARED = '/root/files';

/** Starts the machine and waits until systemd has started everything. `shared` is a folder that it can read. */
export async function startMachine(host: ContainerHost, shared: string): Promise<Machine> {
  const config = ['--cmd', '["/sbin/init"]', '--stop-signal', 'SIGRTMIN+3'];
  await importRoot(host, IMAGE, requireRootfs(debianRootfs().machine), config);
  const flags = ['--detach', '--name', NAME, '--systemd=always', '--network=none'];
  await host.must('podman', 'run', ...flags, '--volume', `${shared}:${SHARED}`, IMAGE);
  const run: Machine['run'] = (script) =>
    host.run('podman', 'exec', '--workdir', SHARED, NAME, 'bash', '-euc', script);
  const must: Machine['must'] = async (script) => {
    const { code, stdout, stderr } = await run(script);
    if (code === 0) return stdout;
    throw new Error(`exited with ${String(code)}:\n${script}\n${stdout}\n${stderr}`);
  };
  await must(
    'until systemctl is-system-running 2>/dev/null | grep -qE "running|degraded"; do sleep 0.2; done',
  );
  return { run, must };
}
