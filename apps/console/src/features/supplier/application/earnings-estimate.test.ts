import { describe, expect, it } from 'vitest';
import { estimateEarnings, marketPrices, parsePercent, rentedPercent } from './earnings-estimate.ts';

const machine = (model: string, usd: number, total: number, reserved: number) => ({
  hardware: {
    cpus: [],
    gpus: [
      { hardware_type: 'gpu' as const, model, clock_speed: 0, compute_power: 0, ram: 0, interface: 'PCIe' },
    ],
    storage: [],
    ram: [],
  },
  pricing: { price: { amount: usd, period: 'hour', agent: 'x' } },
  gpus_total: total,
  gpus_reserved: reserved,
});

describe('marketPrices', () => {
  it('groups machines by GPU model with lowest, median and highest price', () => {
    const groups = marketPrices([
      machine('L4', 0.5, 1, 1),
      machine('H100', 2.49, 8, 4),
      machine('H100', 1.99, 8, 0),
      machine('H100', 3, 8, 2),
    ]);
    expect(groups.map(({ gpuModel }) => gpuModel)).toEqual(['H100', 'L4']);
    expect(groups[0]).toEqual({
      gpuModel: 'H100',
      machines: 3,
      gpus: 24,
      rented: 6,
      lowestNano: 1_990_000_000n,
      medianNano: 2_490_000_000n,
      highestNano: 3_000_000_000n,
    });
    expect(groups.map(rentedPercent)).toEqual([25, 100]);
    expect(marketPrices([])).toEqual([]);
  });
});

describe('estimateEarnings', () => {
  it('takes the share of time and the fee from the price', () => {
    const estimate = estimateEarnings({
      gpus: 8n,
      pricePerGpuHourNano: 2_000_000_000n,
      rentedShare: parsePercent('50') ?? 0n,
      feeShare: parsePercent('20') ?? 0n,
    });
    expect(estimate).toEqual({
      paidNano: 5_760_000_000_000n,
      feeNano: 1_152_000_000_000n,
      earnedNano: 4_608_000_000_000n,
    });
  });

  it('never promises more than the price less the fee', () => {
    const { paidNano, feeNano, earnedNano } = estimateEarnings({
      gpus: 1n,
      pricePerGpuHourNano: 1n,
      rentedShare: 1_000_000n,
      feeShare: 333_333n,
    });
    expect([paidNano, feeNano, earnedNano]).toEqual([720n, 240n, 480n]);
  });
});

describe('parsePercent', () => {
  it.each([
    ['0', 0n],
    ['100', 1_000_000n],
    ['12.5', 125_000n],
    ['0.0001', 1n],
    ['', null],
    ['101', null],
    ['-1', null],
    ['1.00001', null],
  ])('parses %j', (text, share) => {
    expect(parsePercent(text)).toBe(share);
  });
});
