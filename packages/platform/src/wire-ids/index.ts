export { nextWireIds, raiseWireIds } from './id-blocks.store.ts';
export {
  blocksOfCell,
  createWireIdAllocator,
  idsOfBlock,
  maxWireId,
  wireIdBlockSize,
  wireIdCells,
  type WireIdAllocator,
  type WireIdKind,
  type WireIdOptions,
} from './wire-ids.ts';
