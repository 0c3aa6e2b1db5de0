export {
  blocksOfCell,
  createWireIdAllocator,
  idsOfBlock,
  largestWireId,
  wireIdBlockSize,
  wireIdCells,
  type WireIdAllocator,
  type WireIdKind,
  type WireIdOptions,
} from './wire-ids.ts';
