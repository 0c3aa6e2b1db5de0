import { expect, it } from 'vitest';
import type { ComputeDriver, EngineEvent } from '../driver.ts';
import { expectFailure, type Suite } from './suite-context.ts';

export function describeLists(stage: Suite): void {
  it('listOwned includes machines created by other processes, by organisation, and matches describe', async () => {
    const own = await stage.make(stage.on(0, 0));
    const theirs = await stage.make({ orgId: stage.otherOrgId, nodeName: stage.node(1).name });
    const outsider = await stage.connect();
    try {
      const { machines } = await stage.until(
        'all nodes to be reachable',
        stage.facts.bounds.bootMs,
        async () => {
          const owned = await outsider.listOwned(stage.signal());
          return owned.unreachableNodes.length === 0 && owned;
        },
      );
      for (const spec of [own, theirs]) {
        const listed = machines.find(({ externalId }) => externalId === spec.externalId);
        expect(listed).toEqual(await stage.view(spec, outsider));
        expect(listed).toMatchObject({ orgId: spec.orgId, nodeName: spec.nodeName });
      }
    } finally {
      await outsider.close();
    }
  });

  if (stage.harness.createForeign !== undefined) describeForeign(stage);
  if (stage.harness.abilities.events) describeEvents(stage);
}

function describeForeign(stage: Suite): void {
  it('listOwned omits machines that are not owned', async () => {
    const foreign =
      (await stage.harness.createForeign?.()) ?? expect.fail('The harness created no foreign machine.');
    try {
      const { machines } = await stage.driver.listOwned(stage.signal());
      expect(machines.map(({ externalId }) => externalId)).not.toContain(foreign.externalId);
    } finally {
      await foreign.remove();
    }
  });
}

/** Collects events until it is ended. */
function listen(driver: ComputeDriver): {
  readonly received: EngineEvent[];
  readonly over: Promise<void>;
  end(): void;
} {
  const abort = new AbortController();
  const received: EngineEvent[] = [];
  const over = (async () => {
    for await (const event of driver.events(abort.signal)) received.push(event);
  })();
  // The test awaits the rejection later.
  over.catch(() => undefined);
  return { received, over, end: () => abort.abort() };
}

function describeEvents(stage: Suite): void {
  it('events report a created and a deleted machine, and end with their signal', async () => {
    const ears = listen(stage.other);
    // Subscribing takes a moment and a notification may be lost, so a machine is created repeatedly.
    const spec = await stage.until('an event of a new machine', stage.facts.bounds.bootMs, async () => {
      const made = await stage.make({ ports: [] });
      await stage.harness.advance(1_000);
      return ears.received.some((event) => names(event, made.externalId)) && made;
    });
    const before = ears.received.length;
    await stage.driver.terminate(spec, stage.signal());
    await stage.until('an event of its deletion', stage.facts.bounds.bootMs, async () =>
      ears.received.slice(before).some((event) => names(event, spec.externalId)),
    );
    ears.end();
    await stage.whileTimePasses(ears.over);
  });

  it('events throw unavailable when the driver is closed', async () => {
    const driver = await stage.harness.connect();
    const ears = listen(driver);
    await stage.harness.advance(250);
    await driver.close();
    await expectFailure(stage.whileTimePasses(ears.over), ['unavailable']);
  });

  const { loseEvents } = stage.harness;
  if (loseEvents === undefined) return;
  it('events throw unavailable when the connection to the engine is lost', async () => {
    const ears = listen(stage.other);
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    void ears.over.then(end, end);
    // If the host stalls, the subscription may open only after the others were broken, so they are broken again.
    while (!isOver) {
      await stage.harness.advance(1_000);
      if (!isOver) await loseEvents.call(stage.harness);
    }
    await expectFailure(ears.over, ['unavailable']);
  });
}

function names(event: EngineEvent, externalId: string): boolean {
  return event.kind === 'machine' && event.externalId === externalId;
}
