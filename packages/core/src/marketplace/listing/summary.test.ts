import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyFacts, machine, nodeId, type AnyFacts } from './listing.fixture.ts';
import { gpusAvailable } from './machine-record.ts';
import { summariseGpus, type GpuSummary } from './summary.ts';
import { MachineTable } from './machine-table.ts';

function tableOf(machines: readonly AnyFacts[]): MachineTable {
  const table = new MachineTable();
  table.apply(machines.map((facts, number) => [nodeId(number), machine(nodeId(number), facts)] as const));
  return table;
}

/** Computes the summary machine by machine. */
function naiveSummary(machines: readonly AnyFacts[]): readonly GpuSummary[] {
  const records = machines
    .map((facts, number) => machine(nodeId(number), facts))
    .filter(({ mode }) => mode === 'live')
    .map(({ record }) => record);
  const modelOf = (record: (typeof records)[number]): string =>
    [...new Set(record.hardware.gpus.map(({ model }) => model))].toSorted().join(' + ');
  const names = [...new Set(records.map(modelOf))].filter((name) => name !== '').toSorted();
  return names.map((gpuModel) => {
    const same = records.filter((record) => modelOf(record) === gpuModel);
    const free = same.filter((record) => gpusAvailable(record) > 0);
    return {
      gpuModel,
      machines: same.length,
      gpusFree: free.reduce((sum, record) => sum + gpusAvailable(record), 0),
      lowestPrice: free.length === 0 ? null : Math.min(...free.map(({ pricing }) => pricing.price.amount)),
    };
  });
}

it('summariseGpus agrees with a simple count and ignores test machines', () => {
  fc.assert(
    fc.property(fc.array(anyFacts, { maxLength: 40 }), (machines) => {
      expect(summariseGpus(tableOf(machines))).toEqual(naiveSummary(machines));
    }),
    { numRuns: 200 },
  );
});
