import type { EnrolmentId, OrgId } from '@millrace/platform/ids';
import { createItemRunner, type ItemRunner } from '@millrace/platform/loops';
import { advanceEnrolment, claimEnrolments, type EnrolmentDeps } from './enrolment.service.ts';
import { enrolmentLoop } from '../loops.ts';

export interface EnrolmentSlots {
  /** At once in one process: each has a machine tested, which mostly waits. */
  readonly slots: number;
  /** Of one supplier. Its daemons may answer as slowly as they like; the other slots are for others. */
  readonly perSupplier: number;
}

const defaultSlots: EnrolmentSlots = { slots: 12, perSupplier: 3 };

/** Takes machines of suppliers, one step at a time, from asking to join to being enrolled. */
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

  /** Begins what is due, as far as there are slots, and waits for none of it. Answers how many were begun. */
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

  /** All that is under way is over. */
  async settled(): Promise<void> {
    await Promise.all([...this.#underWay.values()].map(({ done }) => done));
  }

  #busy(): readonly OrgId[] {
    const counts = new Map<OrgId, number>();
    for (const { orgId } of this.#underWay.values()) counts.set(orgId, (counts.get(orgId) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= this.#options.perSupplier).map(([orgId]) => orgId);
  }
}
