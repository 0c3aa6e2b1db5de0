import { createHash } from 'node:crypto';
import { systemClock } from '@millrace/platform/clock';
import type { ConfigDrive } from './config-drive.ts';
import { runDeployAgent, type DeployAgent } from './deploy-agent.ts';

/** Injected faults of a machine, which can be set at any time. */
export interface MachineFaults {
  /** Delays every response of the BMC. */
  readonly bmcDelayMs: number;
  /** The BMC responds only this: the password was changed, or the service is down. */
  readonly bmcStatus: 401 | 503 | null;
  /** The BMC accepts power requests without effect. */
  readonly isPowerStuck: boolean;
  readonly failsToWriteImage: boolean;
  /** The ramdisk boots but never calls the engine. */
  readonly isAgentSilent: boolean;
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

/** The result of a deployment on the disk. */
export interface WrittenDisk {
  readonly image: Buffer;
  readonly config: ConfigDrive;
}

/** A system that runs until power-off. */
export type RunningSystem = AsyncDisposable;

export type BootDisk = (machine: EmulatedMachine, disk: WrittenDisk) => Promise<RunningSystem>;

/** Replaces agent and system when the machine is powered on. Must call `powerOff` if it ends by itself. */
export type MachineRuntime = (machine: EmulatedMachine, from: 'cd' | 'disk') => Promise<RunningSystem>;

export interface BootOverride {
  readonly enabled: 'Disabled' | 'Once' | 'Continuous';
  readonly target: string;
  readonly mode: string;
}

export interface MachineIdentity {
  readonly index: number;
  /** A unique loopback address for the system. */
  readonly address: string;
  /** The URL of its BMC and its agent. */
  readonly farmUrl: string;
}

export const gpuCount = 8;

/**
 * One emulated machine: power, a virtual CD drive, a boot order, a disk and a network card. From these follows what
 * runs: the deploy agent after a boot from the CD, the deployed system after a boot from the disk.
 */
export class EmulatedMachine {
  readonly index: number;
  readonly id: string;
  readonly uuid: string;
  readonly mac: string;
  readonly address: string;
  readonly farmUrl: string;
  /** The user of its BMC. Unique, because the engine caches data about a BMC by its user. */
  readonly username: string;
  readonly password = 'of-an-emulated-machine';
  faults: MachineFaults = noFaults;
  power: 'On' | 'Off' = 'Off';
  boot: BootOverride = { enabled: 'Disabled', target: 'None', mode: 'Legacy' };
  /** The image in the CD drive and its URL. */
  media: { readonly url: string; readonly image: Buffer } | null = null;
  disk: WrittenDisk | null = null;
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
    // The second lowest bit of the first byte marks a locally administered address.
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

  /** Executes a power request completely before the BMC responds. */
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
      // If a disk cannot boot, the machine is on and does nothing, like a real one.
      this.#system.catch(() => undefined);
    }
  }

  /** Waits for the delay of a slow BMC. */
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
