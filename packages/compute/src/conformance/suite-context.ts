import { systemClock } from '@millrace/platform/clock';
import { createIdSource, type OrgId } from '@millrace/platform/ids';
import { expect } from 'vitest';
import { isDriverError, type DriverErrorKind } from '../driver-error.ts';
import type { ComputeDriver, MachineRef, MachineView, MachineSpec, PortMapping } from '../driver.ts';
import type { SshTarget } from '../readiness/index.ts';
import { retryingDriver } from './retry.ts';
import { acceptsTcp, newKeyPair, openSsh, type KeyPair, type SshSession } from './ssh.ts';
import type { DriverHarness, HarnessInfo, HarnessNode } from './harness.ts';

export const sshPort = 22;
const suitePollMs = 250;
// What no engine may take for an answer that needs no work, such as one to a signal that has aborted.
export const immediateMs = 2_000;

/** What every test of the suite stands on: two connections, two organisations, and machines that are cleared away. */
export class Suite {
  readonly key: KeyPair = newKeyPair();
  readonly orgId: OrgId;
  readonly otherOrgId: OrgId;
  readonly #harness: DriverHarness;
  readonly #ids = createIdSource({ clock: systemClock, cell: 1 });
  #made: MachineRef[] = [];
  #turn = -1;
  #facts: HarnessInfo | null = null;
  #connections: ComputeDriver[] = [];

  constructor(harness: DriverHarness) {
    this.#harness = harness;
    this.orgId = this.#ids.next('org');
    this.otherOrgId = this.#ids.next('org');
  }

  async open(): Promise<void> {
    this.#facts = await this.#harness.open();
    this.#connections = [await this.#harness.connect(), await this.#harness.connect()];
  }

  /** What a test left is terminated, whether it passed or not. */
  async clear(): Promise<void> {
    const left = this.#made;
    this.#made = [];
    for (const machine of left) {
      await this.until(`the end of ${machine.externalId}`, this.facts.bounds.failoverMs, async () => {
        await this.driver.terminate(machine, this.signal());
        return true;
      });
    }
  }

  async close(): Promise<void> {
    for (const driver of this.#connections) await driver.close();
    await this.#harness.close();
  }

  get harness(): DriverHarness {
    return this.#harness;
  }

  get facts(): HarnessInfo {
    return this.#facts ?? expect.fail('The world was not opened.');
  }

  get driver(): ComputeDriver {
    return this.#requested(this.bare);
  }

  /** As another process. */
  get other(): ComputeDriver {
    return this.#requested(this.#connections[1] ?? expect.fail('There is no second connection.'));
  }

  /** Connects as one more process. The test closes the connection. */
  async connect(): Promise<ComputeDriver> {
    return this.#requested(await this.harness.connect());
  }

  /** Repeats no call: for calls that must fail because the engine does not answer. */
  get bare(): ComputeDriver {
    return this.#connections[0] ?? expect.fail('There is no connection.');
  }

  #requested(driver: ComputeDriver): ComputeDriver {
    const { harness } = this;
    if (harness.isStalled === undefined) return driver;
    return retryingDriver(driver, harness.isStalled.bind(harness), () => this.signal());
  }

  /** Whether the engine has this method: those that `can` does not name every engine has. */
  can(method: string): boolean {
    return !Object.entries(this.harness.abilities).some(([name, isThere]) => name === method && !isThere);
  }

  /** One of the nodes; where there is but one, that is also the second. */
  node(index: number): HarnessNode {
    const { nodes } = this.facts;
    return nodes[Math.min(index, nodes.length - 1)] ?? expect.fail(`The world has no node ${index}.`);
  }

  /** Where machines are whole nodes each is put on the next one: several may be there at once. */
  #nextNode(): HarnessNode {
    if (this.harness.abilities.sharesNodes) return this.node(0);
    const { nodes } = this.facts;
    this.#turn = (this.#turn + 1) % nodes.length;
    return nodes[this.#turn] ?? expect.fail('The world has no nodes.');
  }

  get hasInside(): boolean {
    return this.harness.hasInside ?? true;
  }

  /** This node and some of its GPUs; all of them where a machine is the whole node. */
  on(index: number, ...gpus: readonly number[]): Pick<MachineSpec, 'nodeName' | 'gpuPciAddresses'> {
    const node = this.node(index);
    const some = gpus.map((gpu) => this.gpu(node, gpu));
    return {
      nodeName: node.name,
      gpuPciAddresses: this.harness.abilities.sharesNodes ? some : node.gpuPciAddresses,
    };
  }

  gpu(node: HarnessNode, index: number): string {
    return node.gpuPciAddresses[index] ?? expect.fail(`${node.name} has no GPU ${index}.`);
  }

  /** The deadline of one call. */
  signal(): AbortSignal {
    return AbortSignal.timeout(this.facts.bounds.callMs);
  }

  newId(): string {
    return this.#ids.nextUuid();
  }

  /** A reference to a machine that nobody made. */
  unknownMachine(): MachineRef {
    return { externalId: this.newId(), orgId: this.orgId };
  }

  /** A wish that the engine can fulfil, and a promise that what comes of it is cleared away. */
  async newSpec(changes: Partial<MachineSpec> = {}): Promise<MachineSpec> {
    const nodeName = changes.nodeName ?? this.#nextNode().name;
    const whole = this.facts.nodes.find(({ name }) => name === nodeName)?.gpuPciAddresses ?? [];
    const spec: MachineSpec = {
      externalId: this.newId(),
      orgId: this.orgId,
      mode: 'test',
      nodeName,
      gpuPciAddresses: this.harness.abilities.sharesNodes ? [] : whole,
      ...this.facts.size,
      image: this.facts.image,
      hostname: 'conformance',
      sshKeys: [this.key.public],
      userData: null,
      ports: [await this.sshMapping(nodeName)],
      labels: {},
      ...changes,
    };
    this.#made.push({ externalId: spec.externalId, orgId: spec.orgId });
    return spec;
  }

  async sshMapping(nodeName: string): Promise<PortMapping> {
    const externalPort = await this.facts.freePort(nodeName);
    return { internalPort: sshPort, externalPort, protocol: 'tcp' };
  }

  /** A machine that is on. */
  async make(changes: Partial<MachineSpec> = {}): Promise<MachineSpec> {
    const spec = await this.newSpec(changes);
    await this.bringUp(spec);
    return spec;
  }

  /** Makes it and waits until it is on, which the engine does by itself; throws what kept it from coming on. */
  async bringUp(spec: MachineSpec, driver: ComputeDriver = this.driver): Promise<MachineView> {
    await driver.create(spec, this.signal());
    const view = await this.settled(spec);
    if (view.power === 'off') await driver.start(spec, this.signal());
    return this.view(spec);
  }

  /** The machine once nothing is under way with it. */
  async settled(machine: MachineRef): Promise<MachineView> {
    return this.until('the machine to come on', this.facts.bounds.bootMs, async () => {
      const view = await this.view(machine);
      return view.power !== 'changing' && view;
    });
  }

  /** The machine as it is now; fails when there is none. */
  async view(machine: MachineRef, driver: ComputeDriver = this.driver): Promise<MachineView> {
    const view = await driver.describe(machine, this.signal());
    return view ?? expect.fail(`There is no machine ${machine.externalId}.`);
  }

  /** A login over the network, as soon as the machine lets anyone in. */
  async login(machine: MachineRef, key: KeyPair = this.key): Promise<SshSession> {
    return this.until('a login over SSH', this.facts.bounds.bootMs, () => this.tryLogin(machine, key));
  }

  async tryLogin(machine: MachineRef, key: KeyPair): Promise<SshSession> {
    const { host, port, user, privateKey } = await this.sshTarget(machine, key.private);
    return openSsh({ ...this.harness.ssh, host, port, username: user, privateKey });
  }

  /** Where and as whom one logs in, to whatever host key. */
  async sshTarget(machine: MachineRef, privateKey: string): Promise<SshTarget> {
    const view = await this.view(machine);
    const mapping = view.ports.find((port) => port.internalPort === sshPort);
    const { externalPort } = mapping ?? expect.fail('No port leads to SSH.');
    return { ...this.harness.reach(view, externalPort), user: view.sshUser, privateKey, hostKey: null };
  }

  /** Whether anything answers at this port of the machine's node. */
  async reaches(view: MachineView, externalPort: number): Promise<boolean> {
    return acceptsTcp(this.harness.reach(view, externalPort));
  }

  /**
   * Nothing answers there any more. Looked for repeatedly, and not for long: the kernel takes connections for a listener
   * that was killed until it has cleared it away, though nobody serves them.
   */
  async untilClosed(view: MachineView, externalPort: number): Promise<void> {
    await this.until(
      `port ${externalPort} to be closed`,
      immediateMs,
      async () => !(await this.reaches(view, externalPort)),
    );
  }

  /** Waits for something that is under way, by looking. Undefined, false and an exception mean "not yet". */
  async until<T>(
    what: string,
    withinMs: number,
    look: () => Promise<T>,
  ): Promise<Exclude<T, false | undefined>> {
    let last: unknown;
    for (let waitedMs = 0; waitedMs <= withinMs; waitedMs += suitePollMs) {
      try {
        const seen = await look();
        if (seen !== undefined && seen !== false) return seen as Exclude<T, false | undefined>;
        last = seen;
      } catch (error) {
        // What is under way may fail for a while; a broken promise does not become whole by waiting.
        if (error instanceof Error && error.name === 'AssertionError') throw error;
        last = error;
      }
      await this.harness.advance(suitePollMs);
    }
    throw new Error(`Waited ${withinMs} ms in vain for ${what}.`, { cause: last });
  }

  /** The outcome of a call that may itself wait for the engine's clock. */
  async whileTimePasses<T>(call: Promise<T>): Promise<T> {
    let isOver = false;
    const over = call.finally(() => {
      isOver = true;
    });
    // The real outcome is awaited below; this keeps a rejection from being reported before that.
    over.catch(() => undefined);
    while (!isOver) await this.harness.advance(suitePollMs);
    return over;
  }
}

/** Holds a call to its failure: a `DriverError` of one of these kinds, final if and only if the kind is. */
export async function expectFailure(
  call: Promise<unknown>,
  kinds: readonly DriverErrorKind[],
  title?: string,
): Promise<void> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  const error = 'error' in outcome ? outcome.error : undefined;
  if (!isDriverError(error)) {
    expect.fail(`${title ?? 'The call'} should fail with a DriverError, and ${describeOutcome(outcome)}.`);
  }
  expect(kinds, `${title ?? 'the call'}: ${error.message}`).toContain(error.kind);
  expect(error.isFinal).toBe(error.kind !== 'unavailable' && error.kind !== 'busy');
  expect(error.message).not.toBe('');
}

function describeOutcome(outcome: { value: unknown } | { error: unknown }): string {
  if ('error' in outcome) return `threw ${String(outcome.error)}`;
  return `answered ${JSON.stringify(outcome.value) ?? 'nothing'}`;
}
