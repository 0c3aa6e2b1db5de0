import { describeDriver } from '../conformance/index.ts';
import { IncusClusterHarness } from './incus-cluster-harness.fixture.ts';

// The parts of the suite that need a cluster: placement on members, lists that members answer for each other, and members that
// die. The other parts are about one machine: every CI run tests them on a single daemon (incus-project.conformance), and
// incus.conformance.slow tests them on the cluster.

describeDriver('Incus', new IncusClusterHarness(), {
  testTimeoutMs: 600_000,
  crashTimeoutMs: 600_000,
  hookTimeoutMs: 600_000,
  sections: ['creation', 'lists and events', 'crashes'],
});
