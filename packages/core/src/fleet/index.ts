export { place, UNWATCHED_MS } from './placement.service.ts';
export { findPlacement, markReleasing, releaseAllocation, setFreesAt } from './placement.store.ts';
export type { GivenPort, Offer, PlacedNode, Placement, PlacementNeed, PlacementWish } from './placement.ts';
