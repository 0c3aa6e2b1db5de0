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
import { Stages } from '../stages.ts';
import { hostName, imageAlias, type EmulatedHost } from './host.ts';

const callMs = 120_000;
/** Firmware, kernel, systemd and cloud-init in software, on cores that others use too. */
const bootMs = 600_000;
const graceMs = 120_000;
const loginMs = 60_000;
const closedMs = 5_000;
const [sshPort, webPort] = [2_222, 8_080];
const ssh = { internalPort: 22, externalPort: sshPort, protocol: 'tcp' } as const;
const web = { internalPort: 8_000, externalPort: webPort, protocol: 'tcp' } as const;

/** Leaves a line whenever it runs, on the disk, where the tenant can read it. */
const userData = '#!/bin/sh\necho "user data ran on $(hostname)" >>/var/tmp/user-data\n';

interface LifecycleDeps {
  readonly driver: ComputeDriver;
  /** As another process. */
  readonly other: ComputeDriver;
  readonly host: EmulatedHost;
  readonly note: (line: string) => void;
}

/** One machine, from its wish to its end. Each step says what it holds the driver to. */
export class VmLifecycle extends Stages {
  readonly #deps: LifecycleDeps;
  /** Who gets in now: the platform first, and its tenant once it was handed over. */
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
    await this.timed('what cannot be is refused', () => this.#refusesWhatCannotBe());
    const create = await this.timed('create', () => this.#isMadeOnce());
    const boot = await this.timed('boot and log in', () => this.#bootsAsRequested());
    await this.timed('what is told of it', () => this.#isReported());
    const handed = await this.timed('handing over', () => this.#isHandedOver());
    const ports = await this.timed('ports', () => this.#opensAndClosesPorts());
    const stop = await this.timed('orderly stop', () => this.#stops());
    const start = await this.timed('start and log in', () => this.#isTheSameAfterStart());
    const reboot = await this.timed('reboot and log in', () => this.#isTheSameAfterReboot());
    const cut = await this.timed('cut', () => this.#isCutForGood());
    const end = await this.timed('terminate', () => this.#ends());
    return {
      'create, asked twice at once': create,
      'from create to a login and the end of user data': boot,
      'keys and user data over SSH, and the refusal of the first key': handed,
      'open, use and close a port': ports,
      'orderly stop': stop,
      'from start to a login': start,
      'from reboot to a login': reboot,
      'cut of an open session, and what is refused then': cut,
      'terminate, asked twice': end,
    };
  }

  async #refusesWhatCannotBe(): Promise<void> {
    const { driver, host } = this.#deps;
    const { nodes } = await driver.readInventory(callTimeout());
    this.expect(nodes[0]?.reachable === true, `the host is not fit for VMs: ${nodes[0]?.detail}`);
    await this.#refuses('not_found', 'an image that is not there', () =>
      driver.create({ ...this.#spec, image: 'no-such-image' }, callTimeout()),
    );
    await host.withoutIsoMaker(async () => {
      const error = await this.#refuses(
        'failed',
        'a VM on a host that cannot make the disk for its keys',
        () => driver.create(this.#spec, callTimeout()),
      );
      this.expect(/genisoimage/u.test(error), `the error does not say what to install: ${error}`);
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
    this.expect(view?.power === 'on', `it is ${view?.power} after create`);
    this.expect(view?.nodeName === hostName, `it is on the node ${view?.nodeName}`);
    this.expect(view?.address === this.#deps.host.address, `its ports are at ${view?.address}`);
    this.expect(isSame(view?.ports, [ssh]), `its ports are ${JSON.stringify(view?.ports)}`);
    this.expect(view?.labels['purpose'] === 'proof', 'its label is not there');
    const { machines, unreachableNodes } = await other.listOwned(callTimeout());
    const ids = machines.map(({ externalId }) => externalId);
    this.expect(
      isSame(ids, [this.#spec.externalId]) && unreachableNodes.length === 0,
      `there are ${ids.join(' ')}`,
    );
  }

  async #bootsAsRequested(): Promise<void> {
    const session = await this.#login();
    this.#hostKey = session.hostKey;
    await this.#expectInside(session, 'hostname', 'emulated-vm');
    await this.#expectInside(session, 'whoami', 'ubuntu');
    // The tenant's script is the last thing that cloud-init does, some time after SSH is up.
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
    this.expect(outsider !== null, 'it lets in a key that nobody gave it');
    this.expect(/authentication/iu.test(outsider ?? ''), `another key is refused, but for: ${outsider}`);
  }

  async #isReported(): Promise<void> {
    const { driver } = this.#deps;
    await driver.create(this.#spec, callTimeout());
    await this.#refuses('conflict', 'a machine of another size', () =>
      driver.create({ ...this.#spec, ramMb: 1_024 }, callTimeout()),
    );
    const view = await driver.describe(this.#spec, callTimeout());
    this.expect(view?.privateIps.length === 1, `its addresses are ${view?.privateIps.join(' ')}`);
    const { cpuSeconds, ramUsedBytes } = await driver.metrics(this.#spec, callTimeout());
    this.expect(cpuSeconds !== 0 && ramUsedBytes !== 0, 'a figure that nobody measured is 0, not null');
    const command = { argv: ['true'], timeoutMs: 1_000, maxBytes: 1_000 };
    await this.#refuses('unsupported', 'exec', () => driver.exec(this.#spec, command, callTimeout()));
    await this.#refuses('unsupported', 'setKeys', () => driver.setKeys(this.#spec, [], callTimeout()));
    await this.#refuses('unsupported', 'consoleLog', () =>
      driver.consoleLog(this.#spec, { maxBytes: 1_000 }, callTimeout()),
    );
  }

  /** As rentals hand a machine over into which no engine reaches: by the session of the key that it was made with. */
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
    this.expect(rejection === 'refused', `the first key is ${rejection} when the tenant's is in`);
    this.expect(isSame(handed, { outcome: 'replaced', hasStarted: true }), `it is ${JSON.stringify(handed)}`);
    this.#key = tenant;
    const after = await this.#login();
    await eventually({ what: 'what was handed over', timeoutMs: loginMs }, async () => {
      return (await after.run('cat /var/tmp/handed')) === 'handed over by root\n';
    });
    after.end();
    this.expect((await isKeyRejected(target, callTimeout())) === 'refused', 'the first key gets in again');
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
    this.expect(tookMs < graceMs, 'it did not end by itself when it was asked to');
    await other.stop(this.#spec, { graceMs }, callTimeout());
    const view = await driver.describe(this.#spec, callTimeout());
    this.expect(view?.power === 'off', `it is ${view?.power} after stop`);
    this.expect(!(await this.#isRunning()), 'an emulator runs for a machine that is off');
    const { cpuSeconds, ramUsedBytes } = await driver.metrics(this.#spec, callTimeout());
    this.expect(cpuSeconds === null && ramUsedBytes === null, 'figures are told of a machine that is off');
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
    this.expect(boot !== '' && after !== boot, 'it did not boot anew');
  }

  /** Its name, disk and host key, and that the tenant's script did not run again. Gives the id of the boot. */
  async #isTheSame(): Promise<string> {
    const session = await this.#login();
    this.expect(session.hostKey === this.#hostKey, 'its host key is another than before');
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
    this.expect(view?.power === 'off', `it is ${view?.power} after it was cut`);
    this.expect(view?.ports.length === 0, 'it has ports after it was cut');
    this.expect(!(await this.#isRunning()), 'an emulator runs for a machine that was cut');
    // Nobody is left to tell the client; it finds out when it says something.
    const silence = await session.run('echo still here').catch(() => 'silence');
    this.expect(silence === 'silence', 'an open session goes on after the cut');
    session.end();
    await driver.cutAccess(this.#spec, callTimeout());
    const refused: Readonly<Record<string, () => Promise<unknown>>> = {
      create: () => driver.create(this.#spec, callTimeout()),
      start: () => driver.start(this.#spec, callTimeout()),
      reboot: () => driver.reboot(this.#spec, { graceMs: 0 }, callTimeout()),
      'new ports': () => driver.setPorts(this.#spec, [ssh], callTimeout()),
    };
    for (const [what, call] of Object.entries(refused)) {
      await this.#refuses('conflict', `${what} after a cut`, call);
    }
  }

  async #ends(): Promise<void> {
    const { driver, other, host } = this.#deps;
    await Promise.all([
      driver.terminate(this.#spec, callTimeout()),
      other.terminate(this.#spec, callTimeout()),
    ]);
    await driver.terminate(this.#spec, callTimeout());
    this.expect((await driver.describe(this.#spec, callTimeout())) === null, 'it is there after terminate');
    const { machines } = await driver.listOwned(callTimeout());
    this.expect(machines.length === 0, 'it is listed after terminate');
    const disks = await host.enter('ls', '/mnt/storage-pools/default/virtual-machines');
    this.expect(disks.trim() === '', `its disk is left: ${disks}`);
  }

  /** As soon as the machine lets anyone in. */
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
    // What has ended is listed, as Z, for as long as nobody asks how.
    return processes.split('\n').some((line) => line.includes('qemu') && !line.startsWith('Z'));
  }

  async #expectInside(session: SshSession, command: string, expected: string): Promise<void> {
    const seen = (await session.run(command)).trim();
    this.expect(seen === expected, `inside, \`${command}\` says ${JSON.stringify(seen)}, not ${expected}`);
  }

  /** Gives the words of the refusal. */
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
