import { describeDriver } from '../conformance/index.ts';
import { IncusClusterHarness } from './incus-cluster-harness.fixture.ts';

// The sections that need a cluster: placement, lists across members, and members that die. The other sections run in every CI run
// on a single daemon (incus-project.conformance), and on the cluster in incus.conformance.slow.

describeDriver('Incus', new IncusClusterHarness(), {
  testTimeoutMs: 600_000,
  crashTimeoutMs: 600_000,
  hookTimeoutMs: 600_000,
  sections: ['creation', 'lists and events', 'crashes'],
});
