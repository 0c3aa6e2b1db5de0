import { randomBytes, randomUUID } from 'node:crypto';
import type { ComputeDriver, MachineView, MachineSpec } from '@millrace/compute';
import {
  acceptsTcp,
  newKeyPair,
  openSsh,
  type KeyPair,
  type SshSession,
} from '@millrace/compute/conformance/ssh';
import { isKeyRejected } from '@millrace/compute/readiness';
import { eventually, readNode, testIds, type EmulatedMachine, type TestIronic } from '@millrace/testing';
import { Stages } from '../machine-lifecycle/stages.ts';
import type { QemuRuntime } from './qemu-runtime.ts';
import { volumeLabel } from './tenant-image.ts';

const callMs = 120_000;
/** The ramdisk boots in software, on shared cores, and then does its work. */
const deployMs = 1_500_000;
const wipeMs = 1_500_000;
const bootMs = 600_000;
const loginMs = 60_000;
const hostname = 'emulated-metal';
export const imageName = 'tenant';

interface LifecycleDeps {
  readonly driver: ComputeDriver;
  /** A second driver, as in another process. */
  readonly other: ComputeDriver;
  readonly ironic: TestIronic;
  readonly machine: EmulatedMachine;
  readonly nodeUuid: string;
  readonly body: QemuRuntime;
  readonly note: (line: string) => void;
}

/** The lifecycle of one bare-metal machine, from its spec to its wiped disk, with expectations on driver and Ironic. */
export class BareMetalLifecycle extends Stages {
  readonly #deps: LifecycleDeps;
  readonly #key = newKeyPair();
  readonly #secret = `of-the-tenant-${randomBytes(16).toString('hex')}`;

  constructor(deps: LifecycleDeps) {
    super(deps.note);
    this.#deps = deps;
  }

  async lead(): Promise<Readonly<Record<string, string>>> {
    const spec = await this.#spec();
    const deploy = await this.timed('deploy', () => this.#isDeployed(spec));
    const login = await this.timed('boot and log in', () => this.#letsItsTenantIn());
    await this.timed('search of the deployed disk', () => this.#hasTheTenantsDisk());
    const cut = await this.timed('access cut', () => this.#isCut(spec));
    const wipe = await this.timed('terminate', () => this.#ends(spec));
    await this.timed('search of the wiped disk', () => this.#isWiped());
    return {
      'from create, called twice concurrently, until Ironic has written the image': deploy,
      "from there to login with the tenant's key": login,
      'access cut with an open session': cut,
      'from terminate until the disk is wiped and the node available': wipe,
    };
  }

  async #spec(): Promise<MachineSpec> {
    const { driver, nodeUuid } = this.#deps;
    const { nodes } = await driver.readInventory(within(callMs));
    const hardware = nodes.find(({ name }) => name === nodeUuid)?.hardware;
    if (hardware == null) throw new Error('The node is not in the inventory.');
    return {
      externalId: randomUUID(),
      orgId: testIds.next('org'),
      mode: 'test',
      nodeName: nodeUuid,
      gpuPciAddresses: hardware.gpus.map(({ pciAddress }) => pciAddress),
      cpuCount: hardware.cpuCount,
      ramMb: hardware.ramMb,
      diskGb: hardware.storageGb,
      image: imageName,
      hostname,
      sshKeys: [this.#key.public],
      userData: null,
      ports: [],
      labels: { purpose: 'proof' },
    };
  }

  async #isDeployed(spec: MachineSpec): Promise<void> {
    const { driver, other, machine } = this.#deps;
    await Promise.all([driver.create(spec, within(callMs)), other.create(spec, within(callMs))]);
    const options = { what: 'the deploy to end', timeoutMs: deployMs, intervalMs: 2_000 };
    const view = await eventually(options, async (): Promise<MachineView | undefined> => {
      const seen = await driver.describe(spec, within(callMs));
      return seen === null || seen.power === 'changing' ? undefined : seen;
    });
    if (view.power !== 'on') throw new Error(`The deploy failed: ${view.detail}`);
    this.expect(view.address === machine.address, `the machine's address is ${view.address}`);
    this.expect(view.labels['purpose'] === 'proof', 'the machine has no label');
  }

  async #letsItsTenantIn(): Promise<void> {
    const { machine } = this.#deps;
    const options = { what: 'a login over SSH', timeoutMs: bootMs, intervalMs: 2_000 };
    const session = await eventually(options, () => this.#login(this.#key));
    const name = (await session.run('hostname')).trim();
    this.expect(name === hostname, `the machine's hostname is ${JSON.stringify(name)}`);
    await session.run(`echo ${this.#secret} >/data/secret && sync`);
    session.end();
    const target = { host: machine.address, port: 22, user: 'root', hostKey: null };
    const outsider = await isKeyRejected({ ...target, privateKey: newKeyPair().private }, within(loginMs));
    this.expect(outsider === 'refused', `a key that is not in the spec is ${outsider}`);
  }

  /** Checks that the search finds the tenant's data before the wipe, so that its absence afterwards means something. */
  async #hasTheTenantsDisk(): Promise<void> {
    const { hasTable, found } = await this.#deps.body.searchDisk(this.#traces());
    this.expect(hasTable, 'the deployed disk has no partitions');
    const missing = this.#traces().filter((trace) => !found.includes(trace));
    this.expect(missing.length === 0, `the deployed disk does not contain ${missing.join(', ')}`);
  }

  async #isCut(spec: MachineSpec): Promise<void> {
    const { other, machine } = this.#deps;
    const session = await this.#login(this.#key);
    await other.cutAccess(spec, within(callMs));
    this.expect(machine.power === 'Off', 'the machine has power after the access cut');
    const isOpen = await acceptsTcp({ host: machine.address, port: 22 });
    this.expect(!isOpen, 'SSH is open after the access cut');
    const silence = await session.run('echo still here').catch(() => 'silence');
    this.expect(silence === 'silence', 'an open session continues after the access cut');
    session.end();
  }

  async #ends(spec: MachineSpec): Promise<void> {
    const { driver, other, ironic, nodeUuid } = this.#deps;
    await driver.terminate(spec, within(wipeMs));
    this.expect((await other.describe(spec, within(callMs))) === null, 'the machine exists after terminate');
    const { machines } = await other.listOwned(within(callMs));
    this.expect(machines.length === 0, 'the machine is listed after terminate');
    const node = await readNode(ironic, nodeUuid);
    this.expect(node.provision_state === 'available', `the node is ${node.provision_state}`);
    this.expect(!node.maintenance, 'the node is in maintenance');
    this.expect(node.instance_uuid === null, 'the node still has an instance');
    this.expect(!('millrace_machine' in node.extra), 'the node still has the owner annotation');
  }

  async #isWiped(): Promise<void> {
    const { hasTable, firstByteAt, found } = await this.#deps.body.searchDisk(this.#traces());
    this.expect(!hasTable, 'the partition table still exists');
    this.expect(found.length === 0, `the wiped disk contains ${found.join(', ')}`);
    this.expect(firstByteAt === null, `byte ${firstByteAt} of the wiped disk is not zero`);
  }

  /** Labels of both file systems, the public key of the config drive, and the tenant's text. */
  #traces(): readonly string[] {
    const [, keyText = ''] = this.#key.public.split(' ');
    return [volumeLabel, 'CD001', keyText, this.#secret];
  }

  #login(key: KeyPair): Promise<SshSession> {
    const { address: host } = this.#deps.machine;
    return openSsh({ host, port: 22, username: 'root', privateKey: key.private, readyTimeout: loginMs });
  }
}

function within(milliseconds: number): AbortSignal {
  return AbortSignal.timeout(milliseconds);
}
