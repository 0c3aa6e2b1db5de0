export { serveInstances, type InstanceRoutes } from './instances/instances.routes.ts';
export { createListing, readRecords, type Listing, type ListingOptions } from './listing/listing.ts';
export { serveListing, type ListingRoutes } from './listing/listing.routes.ts';
export { summaryOf, type GpuSummary } from './listing/summary.ts';
export type { ListedRecord, MachineRecord } from './listing/machine.ts';
export { startNames, type NamesParts } from './names/names.service.ts';
