import { createHash } from 'node:crypto';
import { systemClock } from '@millrace/platform/clock';
import type { ConfigDrive } from './config-drive.ts';
import { runDeployAgent, type DeployAgent } from './deploy-agent.ts';

/** What is wrong with a machine; each may be switched on and off at any time. */
export interface MachineFaults {
  /** Every answer of its BMC comes so much later. */
  readonly bmcDelayMs: number;
  /** Its BMC answers nothing else: the password was changed, or the service behind it is down. */
  readonly bmcStatus: 401 | 503 | null;
  /** The BMC takes orders to switch the power and nothing happens. */
  readonly isPowerStuck: boolean;
  /** The disk does not take the image. */
  readonly failsToWriteImage: boolean;
  /** The ramdisk boots and never calls the engine. */
  readonly isAgentSilent: boolean;
  /** The disk cannot be wiped. */
  readonly failsToClean: boolean;
}

const noFaults: MachineFaults = {
  bmcDelayMs: 0,
  bmcStatus: null,
  isPowerStuck: false,
  failsToWriteImage: false,
  isAgentSilent: false,
  failsToClean: false,
};

/** What a tenant's deploy left on the disk. */
export interface WrittenDisk {
  readonly image: Buffer;
  readonly config: ConfigDrive;
}

/** A system that runs, until its power goes. */
export type RunningSystem = AsyncDisposable;

/** Starts what is on the disk of a machine. */
export type BootDisk = (machine: EmulatedMachine, disk: WrittenDisk) => Promise<RunningSystem>;

/**
 * What a machine is when it is switched on, in place of the emulated agent and system: a body that boots the CD or the disk
 * by itself. One that ends by itself says so with `powerOff`.
 */
export type MachineRuntime = (machine: EmulatedMachine, from: 'cd' | 'disk') => Promise<RunningSystem>;

export interface BootOverride {
  readonly enabled: 'Disabled' | 'Once' | 'Continuous';
  readonly target: string;
  readonly mode: string;
}

export interface MachineIdentity {
  /** The number of it in its farm. */
  readonly index: number;
  /** Where its system has its network: an address of loopback that no other machine has. */
  readonly address: string;
  /** Where its BMC is, and its agent when it runs. */
  readonly farmUrl: string;
}

export const gpuCount = 8;

/**
 * One machine without hardware: power, a virtual CD drive, an order of what to boot, a disk, and a network card. What runs
 * on it follows from these: the deploy agent when it boots from the CD, what was deployed when it boots from the disk.
 */
export class EmulatedMachine {
  readonly index: number;
  readonly id: string;
  readonly uuid: string;
  readonly mac: string;
  readonly address: string;
  readonly farmUrl: string;
  /** Who may speak to its BMC. Each has a user of its own: the engine keeps what it learnt about one by its user. */
  readonly username: string;
  readonly password = 'of-an-emulated-machine';
  faults: MachineFaults = noFaults;
  power: 'On' | 'Off' = 'Off';
  boot: BootOverride = { enabled: 'Disabled', target: 'None', mode: 'Legacy' };
  /** The image in the CD drive, and where it came from. */
  media: { readonly url: string; readonly image: Buffer } | null = null;
  disk: WrittenDisk | null = null;
  /** How often its disk was wiped. */
  wipes = 0;
  agent: DeployAgent | null = null;
  readonly #bootDisk: BootDisk;
  readonly #body: MachineRuntime | null;
  #system: Promise<RunningSystem> | null = null;

  constructor(
    { index, address, farmUrl }: MachineIdentity,
    bootDisk: BootDisk,
    body: MachineRuntime | null = null,
  ) {
    this.index = index;
    this.id = String(index);
    this.address = address;
    this.farmUrl = farmUrl;
    this.username = `operator-${index}`;
    const hash = createHash('sha256').update(`${address} ${index}`).digest('hex');
    this.uuid = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
    // The second lowest bit of the first byte says that nobody sells a card of this number.
    this.mac = `02:${hash.slice(40, 50).replaceAll(/..(?=.)/g, '$&:')}`;
    this.#bootDisk = bootDisk;
    this.#body = body;
  }

  break(faults: Partial<MachineFaults>): void {
    this.faults = { ...this.faults, ...faults };
  }

  heal(): void {
    this.faults = noFaults;
  }

  /** Carries out an order to its power. It is taken, and done, before the order is answered. */
  async reset(type: string): Promise<boolean> {
    const wanted = resets[type];
    if (wanted === undefined) return false;
    if (this.faults.isPowerStuck || wanted === 'nothing') return true;
    const isOn = this.power === 'On';
    if (wanted === 'off' || wanted === 'again') await this.powerOff();
    if (wanted === 'again' || (wanted === 'on' && !isOn)) this.#powerOn();
    return true;
  }

  async powerOff(): Promise<void> {
    this.power = 'Off';
    this.agent?.stop();
    this.agent = null;
    const system = this.#system;
    this.#system = null;
    await (await system?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  #powerOn(): void {
    this.power = 'On';
    const isFromCd = this.boot.enabled !== 'Disabled' && this.boot.target === 'Cd';
    if (this.boot.enabled === 'Once') this.boot = { ...this.boot, enabled: 'Disabled', target: 'None' };
    if (this.#body !== null) {
      this.#system = this.#body(this, isFromCd && this.media !== null ? 'cd' : 'disk');
      this.#system.catch(() => undefined);
    } else if (isFromCd && this.media !== null) {
      this.agent = runDeployAgent(this, this.media.image);
    } else if (!isFromCd && this.disk !== null) {
      this.#system = this.#bootDisk(this, this.disk);
      // A disk that cannot be booted is a machine that is on and does nothing, as it would be.
      this.#system.catch(() => undefined);
    }
  }

  /** Waits as slow a BMC as this one makes its callers wait. */
  async hesitate(): Promise<void> {
    if (this.faults.bmcDelayMs > 0) await systemClock.sleep(this.faults.bmcDelayMs);
  }

  wipe(): void {
    this.disk = null;
    this.wipes += 1;
  }
}

const resets: Readonly<Record<string, 'on' | 'off' | 'again' | 'nothing'>> = {
  On: 'on',
  ForceOn: 'on',
  ForceOff: 'off',
  GracefulShutdown: 'off',
  ForceRestart: 'again',
  GracefulRestart: 'again',
  Nmi: 'nothing',
};
