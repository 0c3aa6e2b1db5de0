import type { EnrolmentId, OrgId } from '@millrace/platform/ids';
import { createItemRunner, type ItemRunner } from '@millrace/platform/loops';
import { advanceEnrolment, claimEnrolments, type EnrolmentDeps } from './enrolment.service.ts';
import { enrolmentLoop } from '../loops.ts';

export interface EnrolmentSlots {
  /** Concurrent enrolments in one process; most of their time is waiting for a test machine. */
  readonly slots: number;
  /** Of one supplier. Its slow daemons cannot use the slots of others. */
  readonly perSupplier: number;
}

const defaultSlots: EnrolmentSlots = { slots: 12, perSupplier: 3 };

export class EnrolmentSweep {
  readonly #deps: EnrolmentDeps;
  readonly #options: EnrolmentSlots;
  readonly #underWay = new Map<EnrolmentId, { readonly orgId: OrgId; readonly done: Promise<void> }>();

  readonly #runner: ItemRunner;

  constructor(deps: EnrolmentDeps, options: EnrolmentSlots = defaultSlots) {
    this.#deps = deps;
    this.#options = options;
    const { clock, log } = deps;
    this.#runner = createItemRunner({ ...enrolmentLoop, atOnce: options.slots }, { clock, log });
  }

  /** Starts due enrolments in free slots without waiting for them. Returns the number started. */
  async sweep(): Promise<number> {
    const { slots, perSupplier } = this.#options;
    const limit = slots - this.#underWay.size;
    if (limit <= 0) return 0;
    const due = await claimEnrolments(this.#deps, { limit, perSupplier, busy: this.#busy() });
    for (const enrolment of due) {
      const { id, orgId } = enrolment;
      const done = this.#runner
        .run([enrolment], { key: () => id, work: () => advanceEnrolment(this.#deps, enrolment) })
        .then(() => void this.#underWay.delete(id));
      this.#underWay.set(id, { orgId, done });
    }
    return due.length;
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#underWay.values()].map(({ done }) => done));
  }

  #busy(): readonly OrgId[] {
    const counts = new Map<OrgId, number>();
    for (const { orgId } of this.#underWay.values()) counts.set(orgId, (counts.get(orgId) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= this.#options.perSupplier).map(([orgId]) => orgId);
  }
}
