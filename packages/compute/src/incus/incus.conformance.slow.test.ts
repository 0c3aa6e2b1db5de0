import { describeDriver } from '../conformance/index.ts';
import { IncusClusterHarness } from './incus-cluster-harness.fixture.ts';

// The whole suite on three daemons. Every CI run tests a part of it on a cluster (incus.conformance.int).

describeDriver('Incus', new IncusClusterHarness(), {
  testTimeoutMs: 600_000,
  crashTimeoutMs: 600_000,
  hookTimeoutMs: 600_000,
});
