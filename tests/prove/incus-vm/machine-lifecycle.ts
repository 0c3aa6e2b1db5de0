import { randomUUID } from 'node:crypto';
import { isDriverError, type ComputeDriver, type DriverErrorKind, type MachineSpec } from '@millrace/compute';
import {
  acceptsTcp,
  newKeyPair,
  openSsh,
  type KeyPair,
  type SshSession,
} from '@millrace/compute/conformance/ssh';
import { handOverOverSsh, isKeyRejected } from '@millrace/compute/readiness';
import { systemClock } from '@millrace/platform/clock';
import { eventually, testIds } from '@millrace/testing';
import { Stages } from '../machine-lifecycle/stages.ts';
import { hostName, imageAlias, type EmulatedHost } from './host.ts';

const callMs = 120_000;
/** Firmware, kernel, systemd and cloud-init run in software, on shared cores. */
const bootMs = 600_000;
const graceMs = 120_000;
const loginMs = 60_000;
const closedMs = 5_000;
const [sshPort, webPort] = [2_222, 8_080];
const ssh = { internalPort: 22, externalPort: sshPort, protocol: 'tcp' } as const;
const web = { internalPort: 8_000, externalPort: webPort, protocol: 'tcp' } as const;

/** Appends a line to a file on the disk on every run, so that runs can be counted. */
const userData = '#!/bin/sh\necho "user data ran on $(hostname)" >>/var/tmp/user-data\n';

interface LifecycleDeps {
  readonly driver: ComputeDriver;
  /** A second driver, as in another process. */
  readonly other: ComputeDriver;
  readonly host: EmulatedHost;
  readonly note: (line: string) => void;
}

/** The lifecycle of one VM, from its spec to its deletion, with expectations on the driver at each step. */
export class VmLifecycle extends Stages {
  readonly #deps: LifecycleDeps;
  /** The readiness key at first, the tenant's key after the hand-over. */
  #key = newKeyPair();
  readonly #spec: MachineSpec;
  #hostKey = '';

  constructor(deps: LifecycleDeps) {
    super(deps.note);
    this.#deps = deps;
    this.#spec = {
      externalId: randomUUID(),
      orgId: testIds.next('org'),
      mode: 'test',
      nodeName: hostName,
      gpuPciAddresses: [],
      cpuCount: 1,
      ramMb: 512,
      diskGb: 2,
      image: imageAlias,
      hostname: 'emulated-vm',
      sshKeys: [this.#key.public],
      userData,
      ports: [ssh],
      labels: { purpose: 'proof' },
    };
  }

  async lead(): Promise<Readonly<Record<string, string>>> {
    await this.timed('refusal of invalid creates', () => this.#refusesWhatCannotBe());
    const create = await this.timed('create', () => this.#isMadeOnce());
    const boot = await this.timed('boot and log in', () => this.#bootsAsRequested());
    await this.timed('describe, metrics and unsupported calls', () => this.#isReported());
    const handed = await this.timed('hand-over', () => this.#isHandedOver());
    const ports = await this.timed('ports', () => this.#opensAndClosesPorts());
    const stop = await this.timed('graceful stop', () => this.#stops());
    const start = await this.timed('start and log in', () => this.#isTheSameAfterStart());
    const reboot = await this.timed('reboot and log in', () => this.#isTheSameAfterReboot());
    const cut = await this.timed('access cut', () => this.#isCutForGood());
    const end = await this.timed('terminate', () => this.#ends());
    return {
      'create, called twice concurrently': create,
      'from create to login and the end of user data': boot,
      'hand-over over SSH and rejection of the readiness key': handed,
      'open, use and close a port': ports,
      'graceful stop': stop,
      'from start to login': start,
      'from reboot to login': reboot,
      'access cut with an open session, and the refusals after it': cut,
      'terminate, called twice': end,
    };
  }

  async #refusesWhatCannotBe(): Promise<void> {
    const { driver, host } = this.#deps;
    const { nodes } = await driver.readInventory(callTimeout());
    this.expect(nodes[0]?.reachable === true, `the host cannot run VMs: ${nodes[0]?.detail}`);
    await this.#refuses('not_found', 'an image that does not exist', () =>
      driver.create({ ...this.#spec, image: 'no-such-image' }, callTimeout()),
    );
    await host.withoutIsoMaker(async () => {
      const error = await this.#refuses(
        'failed',
        'a VM on a host that cannot make the disk for its keys',
        () => driver.create(this.#spec, callTimeout()),
      );
      this.expect(/genisoimage/u.test(error), `the error does not name the package to install: ${error}`);
    });
    this.expect(
      (await driver.describe(this.#spec, callTimeout())) === null,
      'a refused create left a machine',
    );
  }

  async #isMadeOnce(): Promise<void> {
    const { driver, other } = this.#deps;
    await Promise.all([driver.create(this.#spec, callTimeout()), other.create(this.#spec, callTimeout())]);
    const view = await driver.describe(this.#spec, callTimeout());
    this.expect(view?.power === 'on', `the machine is ${view?.power} after create`);
    this.expect(view?.nodeName === hostName, `the machine is on the node ${view?.nodeName}`);
    this.expect(view?.address === this.#deps.host.address, `the machine's ports are at ${view?.address}`);
    this.expect(isSame(view?.ports, [ssh]), `the machine's ports are ${JSON.stringify(view?.ports)}`);
    this.expect(view?.labels['purpose'] === 'proof', 'the machine has no label');
    const { machines, unreachableNodes } = await other.listOwned(callTimeout());
    const ids = machines.map(({ externalId }) => externalId);
    this.expect(
      isSame(ids, [this.#spec.externalId]) && unreachableNodes.length === 0,
      `the driver lists ${ids.join(' ')}`,
    );
  }

  async #bootsAsRequested(): Promise<void> {
    const session = await this.#login();
    this.#hostKey = session.hostKey;
    await this.#expectInside(session, 'hostname', 'emulated-vm');
    await this.#expectInside(session, 'whoami', 'ubuntu');
    // User data is cloud-init's last step, some time after SSH is up.
    const written = await eventually(
      { what: 'user data', timeoutMs: bootMs, intervalMs: 2_000 },
      async () => {
        const text = await session.run('cat /var/tmp/user-data');
        return text !== '' && text;
      },
    );
    this.expect(written === 'user data ran on emulated-vm\n', `user data left ${JSON.stringify(written)}`);
    await session.run('echo kept >kept && sync');
    session.end();
    const outsider = await this.#tryLogin(newKeyPair()).then(
      () => null,
      (error: unknown) => String(error),
    );
    this.expect(outsider !== null, 'the machine accepts a key that is not in its spec');
    this.expect(
      /authentication/iu.test(outsider ?? ''),
      `another key is refused for another reason: ${outsider}`,
    );
  }

  async #isReported(): Promise<void> {
    const { driver } = this.#deps;
    await driver.create(this.#spec, callTimeout());
    await this.#refuses('conflict', 'a machine of another size', () =>
      driver.create({ ...this.#spec, ramMb: 1_024 }, callTimeout()),
    );
    const view = await driver.describe(this.#spec, callTimeout());
    this.expect(view?.privateIps.length === 1, `the machine's addresses are ${view?.privateIps.join(' ')}`);
    const { cpuSeconds, ramUsedBytes } = await driver.metrics(this.#spec, callTimeout());
    this.expect(cpuSeconds !== 0 && ramUsedBytes !== 0, 'an unmeasured figure is 0, not null');
    const command = { argv: ['true'], timeoutMs: 1_000, maxBytes: 1_000 };
    await this.#refuses('unsupported', 'exec', () => driver.exec(this.#spec, command, callTimeout()));
    await this.#refuses('unsupported', 'setKeys', () => driver.setKeys(this.#spec, [], callTimeout()));
    await this.#refuses('unsupported', 'consoleLog', () =>
      driver.consoleLog(this.#spec, { maxBytes: 1_000 }, callTimeout()),
    );
  }

  /** The hand-over of rentals to machines without an agent: through an SSH session with the readiness key. */
  async #isHandedOver(): Promise<void> {
    const [platform, tenant] = [this.#key, newKeyPair()];
    const { address: host } = this.#deps.host;
    const session = await this.#login();
    session.end();
    const privateKey = platform.private;
    const target = { host, port: sshPort, user: 'ubuntu', privateKey, hostKey: null };
    let rejection = '';
    const handed = await handOverOverSsh(
      target,
      {
        keys: [tenant.public],
        userData: '#!/bin/sh\necho "handed over by $(id -un)" >>/var/tmp/handed\n',
        first: async () => {
          rejection = await isKeyRejected(target, callTimeout());
        },
      },
      callTimeout(),
    );
    this.expect(
      rejection === 'refused',
      `the readiness key is ${rejection} when the tenant's key is installed`,
    );
    this.expect(
      isSame(handed, { outcome: 'replaced', hasStarted: true }),
      `the hand-over returned ${JSON.stringify(handed)}`,
    );
    this.#key = tenant;
    const after = await this.#login();
    await eventually({ what: 'the user data of the hand-over to run', timeoutMs: loginMs }, async () => {
      return (await after.run('cat /var/tmp/handed')) === 'handed over by root\n';
    });
    after.end();
    this.expect(
      (await isKeyRejected(target, callTimeout())) === 'refused',
      'the readiness key is accepted again',
    );
  }

  async #opensAndClosesPorts(): Promise<void> {
    const { driver, other, host } = this.#deps;
    const session = await this.#login();
    await session.run('cd /var/tmp && setsid -f python3 -m http.server 8000 </dev/null >/dev/null 2>&1');
    await driver.setPorts(this.#spec, [ssh, web], callTimeout());
    const page = await eventually({ what: 'a page through the new port', timeoutMs: loginMs }, async () => {
      const response = await fetch(`http://${host.address}:${webPort}/user-data`);
      return response.text();
    });
    this.expect(page.startsWith('user data ran'), `the new port answers ${JSON.stringify(page)}`);
    await other.setPorts(this.#spec, [ssh], callTimeout());
    await this.#isClosed(webPort);
    await this.#expectInside(session, 'echo still here', 'still here');
    session.end();
    await driver.setPorts(this.#spec, [], callTimeout());
    await this.#isClosed(sshPort);
    await driver.setPorts(this.#spec, [ssh], callTimeout());
    (await this.#login()).end();
  }

  async #stops(): Promise<void> {
    const { driver, other } = this.#deps;
    const startedMs = systemClock.monotonicMs();
    await driver.stop(this.#spec, { graceMs }, callTimeout());
    const tookMs = systemClock.monotonicMs() - startedMs;
    this.expect(tookMs < graceMs, 'the machine did not stop within the grace period');
    await other.stop(this.#spec, { graceMs }, callTimeout());
    const view = await driver.describe(this.#spec, callTimeout());
    this.expect(view?.power === 'off', `the machine is ${view?.power} after stop`);
    this.expect(!(await this.#isRunning()), 'QEMU runs for a machine that is off');
    const { cpuSeconds, ramUsedBytes } = await driver.metrics(this.#spec, callTimeout());
    this.expect(cpuSeconds === null && ramUsedBytes === null, 'metrics of a stopped machine are not null');
  }

  async #isTheSameAfterStart(): Promise<void> {
    await this.#deps.other.start(this.#spec, callTimeout());
    await this.#isTheSame();
  }

  async #isTheSameAfterReboot(): Promise<void> {
    const before = await this.#login();
    const boot = await before.run('cat /proc/sys/kernel/random/boot_id');
    await this.#deps.driver.reboot(this.#spec, { graceMs }, callTimeout());
    await eventually({ what: 'the session to end', timeoutMs: callMs }, () => isOver(before));
    const after = await this.#isTheSame();
    this.expect(boot !== '' && after !== boot, 'the machine did not boot again');
  }

  /** Checks name, disk and host key, and that user data did not run again. Returns the boot id. */
  async #isTheSame(): Promise<string> {
    const session = await this.#login();
    this.expect(session.hostKey === this.#hostKey, 'the host key has changed');
    await this.#expectInside(session, 'hostname', 'emulated-vm');
    await this.#expectInside(session, 'cat kept', 'kept');
    await this.#expectInside(session, 'wc -l </var/tmp/user-data', '1');
    const boot = await session.run('cat /proc/sys/kernel/random/boot_id');
    session.end();
    return boot;
  }

  async #isCutForGood(): Promise<void> {
    const { driver, other } = this.#deps;
    const session = await this.#login();
    await other.cutAccess(this.#spec, callTimeout());
    await this.#isClosed(sshPort);
    const view = await driver.describe(this.#spec, callTimeout());
    this.expect(view?.power === 'off', `the machine is ${view?.power} after the access cut`);
    this.expect(view?.ports.length === 0, 'the machine has ports after the access cut');
    this.expect(!(await this.#isRunning()), 'QEMU runs after the access cut');
    // No process is left to close the connection, so the client notices only when it sends something.
    const silence = await session.run('echo still here').catch(() => 'silence');
    this.expect(silence === 'silence', 'an open session continues after the access cut');
    session.end();
    await driver.cutAccess(this.#spec, callTimeout());
    const refused: Readonly<Record<string, () => Promise<unknown>>> = {
      create: () => driver.create(this.#spec, callTimeout()),
      start: () => driver.start(this.#spec, callTimeout()),
      reboot: () => driver.reboot(this.#spec, { graceMs: 0 }, callTimeout()),
      'new ports': () => driver.setPorts(this.#spec, [ssh], callTimeout()),
    };
    for (const [what, call] of Object.entries(refused)) {
      await this.#refuses('conflict', `${what} after the access cut`, call);
    }
  }

  async #ends(): Promise<void> {
    const { driver, other, host } = this.#deps;
    await Promise.all([
      driver.terminate(this.#spec, callTimeout()),
      other.terminate(this.#spec, callTimeout()),
    ]);
    await driver.terminate(this.#spec, callTimeout());
    this.expect(
      (await driver.describe(this.#spec, callTimeout())) === null,
      'the machine exists after terminate',
    );
    const { machines } = await driver.listOwned(callTimeout());
    this.expect(machines.length === 0, 'the machine is listed after terminate');
    const disks = await host.enter('ls', '/mnt/storage-pools/default/virtual-machines');
    this.expect(disks.trim() === '', `the machine's disk still exists: ${disks}`);
  }

  #login(): Promise<SshSession> {
    const options = { what: 'a login over SSH', timeoutMs: bootMs, intervalMs: 1_000 };
    return eventually(options, () => this.#tryLogin(this.#key));
  }

  #tryLogin(key: KeyPair): Promise<SshSession> {
    const { address: host } = this.#deps.host;
    const timeouts = { readyTimeout: loginMs, keepaliveInterval: 1_000, keepaliveCountMax: 20 };
    return openSsh({ ...timeouts, host, port: sshPort, username: 'ubuntu', privateKey: key.private });
  }

  async #isClosed(port: number): Promise<void> {
    const { address: host } = this.#deps.host;
    const options = { what: `port ${port} to be closed`, timeoutMs: closedMs, intervalMs: 200 };
    const isClosed = await eventually(options, async () => !(await acceptsTcp({ host, port }))).catch(
      () => false,
    );
    this.expect(isClosed, `port ${port} is open after it was closed`);
  }

  async #isRunning(): Promise<boolean> {
    const processes = await this.#deps.host.enter('ps', '-eo', 'stat=,comm=');
    // Ended processes are listed as Z until their parent collects their status.
    return processes.split('\n').some((line) => line.includes('qemu') && !line.startsWith('Z'));
  }

  async #expectInside(session: SshSession, command: string, expected: string): Promise<void> {
    const seen = (await session.run(command)).trim();
    this.expect(
      seen === expected,
      `\`${command}\` in the machine printed ${JSON.stringify(seen)}, not ${expected}`,
    );
  }

  async #refuses(kind: DriverErrorKind, what: string, work: () => Promise<unknown>): Promise<string> {
    const error = await work().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    this.expect(isDriverError(error, kind), `${what} is not refused as ${kind}: ${String(error)}`);
    return String(error);
  }
}

async function isOver(session: SshSession): Promise<boolean> {
  const later = systemClock.sleep(100).then(() => false);
  return Promise.race([session.closed.then(() => true), later]);
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function callTimeout(): AbortSignal {
  return AbortSignal.timeout(graceMs + callMs);
}
