import { describe, expect, it } from 'vitest';
import { blocksOfCell, idsOfBlock, maxWireId, wireIdBlockSize, wireIdCells } from './index.ts';

describe('blocksOfCell and idsOfBlock', () => {
  const cells = Array.from({ length: wireIdCells }, (_, cell) => cell);

  it('assign every block to exactly one cell', () => {
    const dealt = cells.flatMap((cell) => blocksOfCell(cell));
    expect(new Set(dealt).size).toBe(dealt.length);
    expect(dealt.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2_048 }, (_, block) => block));
  });

  it('cover exactly the ids from 1 to the largest 32-bit integer', () => {
    expect(idsOfBlock(0)).toEqual({ first: 1, last: wireIdBlockSize - 1 });
    expect(idsOfBlock(2_047).last).toBe(maxWireId);
    for (let block = 1; block < 2_048; block += 1) {
      expect(idsOfBlock(block).first).toBe(idsOfBlock(block - 1).last + 1);
    }
  });

  it('throw for a cell without blocks', () => {
    expect(() => blocksOfCell(wireIdCells)).toThrow('Only cells 0 to 63');
    expect(() => blocksOfCell(-1)).toThrow(RangeError);
  });
});
