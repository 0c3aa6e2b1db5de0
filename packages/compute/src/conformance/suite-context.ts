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
// Upper limit for results that need no work of the engine, such as an aborted signal.
export const immediateMs = 2_000;

/** Shared by the tests of the suite: two connections, two organisations, and machines that are deleted after each test. */
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

  /** Terminates the machines of a test, whether it passed or not. */
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
    return this.#facts ?? expect.fail('The harness is not open.');
  }

  get driver(): ComputeDriver {
    return this.#requested(this.bare);
  }

  /** Like another process. */
  get other(): ComputeDriver {
    return this.#requested(this.#connections[1] ?? expect.fail('There is no second connection.'));
  }

  /** Connects as one more process. The test closes the connection. */
  async connect(): Promise<ComputeDriver> {
    return this.#requested(await this.harness.connect());
  }

  /** Does not repeat calls: for calls that must fail because the engine does not respond. */
  get bare(): ComputeDriver {
    return this.#connections[0] ?? expect.fail('There is no connection.');
  }

  #requested(driver: ComputeDriver): ComputeDriver {
    const { harness } = this;
    if (harness.isStalled === undefined) return driver;
    return retryingDriver(driver, harness.isStalled.bind(harness), () => this.signal());
  }

  /** Methods that `can` does not list are supported by every engine. */
  can(method: string): boolean {
    return !Object.entries(this.harness.abilities).some(([name, isThere]) => name === method && !isThere);
  }

  /** If there is only one node, it is also the second. */
  node(index: number): HarnessNode {
    const { nodes } = this.facts;
    return nodes[Math.min(index, nodes.length - 1)] ?? expect.fail(`The harness has no node ${index}.`);
  }

  /** If machines are whole nodes, each test machine uses the next node, because several can exist at once. */
  #nextNode(): HarnessNode {
    if (this.harness.abilities.sharesNodes) return this.node(0);
    const { nodes } = this.facts;
    this.#turn = (this.#turn + 1) % nodes.length;
    return nodes[this.#turn] ?? expect.fail('The harness has no nodes.');
  }

  get hasInside(): boolean {
    return this.harness.hasInside ?? true;
  }

  /** A node and some of its GPUs, or all if machines are whole nodes. */
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

  signal(): AbortSignal {
    return AbortSignal.timeout(this.facts.bounds.callMs);
  }

  newId(): string {
    return this.#ids.nextUuid();
  }

  unknownMachine(): MachineRef {
    return { externalId: this.newId(), orgId: this.orgId };
  }

  /** Returns a valid spec and registers its machine for deletion. */
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

  /** Creates a machine and waits until it is on. */
  async make(changes: Partial<MachineSpec> = {}): Promise<MachineSpec> {
    const spec = await this.newSpec(changes);
    await this.bringUp(spec);
    return spec;
  }

  /** Creates the machine and waits until it is on; throws the reason if the start fails. */
  async bringUp(spec: MachineSpec, driver: ComputeDriver = this.driver): Promise<MachineView> {
    await driver.create(spec, this.signal());
    const view = await this.settled(spec);
    if (view.power === 'off') await driver.start(spec, this.signal());
    return this.view(spec);
  }

  /** Waits until no operation on the machine is in progress. */
  async settled(machine: MachineRef): Promise<MachineView> {
    return this.until('the machine to come on', this.facts.bounds.bootMs, async () => {
      const view = await this.view(machine);
      return view.power !== 'changing' && view;
    });
  }

  /** Fails if the machine does not exist. */
  async view(machine: MachineRef, driver: ComputeDriver = this.driver): Promise<MachineView> {
    const view = await driver.describe(machine, this.signal());
    return view ?? expect.fail(`There is no machine ${machine.externalId}.`);
  }

  /** Logs in as soon as the machine accepts it. */
  async login(machine: MachineRef, key: KeyPair = this.key): Promise<SshSession> {
    return this.until('a login over SSH', this.facts.bounds.bootMs, () => this.tryLogin(machine, key));
  }

  async tryLogin(machine: MachineRef, key: KeyPair): Promise<SshSession> {
    const { host, port, user, privateKey } = await this.sshTarget(machine, key.private);
    return openSsh({ ...this.harness.ssh, host, port, username: user, privateKey });
  }

  async sshTarget(machine: MachineRef, privateKey: string): Promise<SshTarget> {
    const view = await this.view(machine);
    const mapping = view.ports.find((port) => port.internalPort === sshPort);
    const { externalPort } = mapping ?? expect.fail('No port is mapped to SSH.');
    return { ...this.harness.reach(view, externalPort), user: view.sshUser, privateKey, hostKey: null };
  }

  async reaches(view: MachineView, externalPort: number): Promise<boolean> {
    return acceptsTcp(this.harness.reach(view, externalPort));
  }

  /** Polls briefly until the port is closed: the kernel accepts connections for a killed listener until it has removed it. */
  async untilClosed(view: MachineView, externalPort: number): Promise<void> {
    await this.until(
      `port ${externalPort} to be closed`,
      immediateMs,
      async () => !(await this.reaches(view, externalPort)),
    );
  }

  /** Polls until the result is neither undefined nor false; errors count as not yet. */
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
        // Errors may be temporary, but a failed assertion is final.
        if (error instanceof Error && error.name === 'AssertionError') throw error;
        last = error;
      }
      await this.harness.advance(suitePollMs);
    }
    throw new Error(`Timed out after ${withinMs} ms waiting for ${what}.`, { cause: last });
  }

  /** For a call that waits for the engine's clock. */
  async whileTimePasses<T>(call: Promise<T>): Promise<T> {
    let isOver = false;
    const over = call.finally(() => {
      isOver = true;
    });
    // The rejection is awaited below.
    over.catch(() => undefined);
    while (!isOver) await this.harness.advance(suitePollMs);
    return over;
  }
}

/** Asserts that the call fails with a `DriverError` of one of these kinds, and that `isFinal` matches. */
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
