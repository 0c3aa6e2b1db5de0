/** Values of one series in a test: before and after the fault, during it, and just below the threshold. */
export interface TestSeries {
  readonly kind: 'gauge' | 'counter';
  readonly normal: number;
  readonly fault: number;
  readonly almost: number;
}

export interface AlertRule {
  readonly name: string;
  readonly expr: string;
  readonly forMinutes: number;
  /** A page alerts a person at once; a ticket waits for working hours. */
  readonly severity: 'page' | 'ticket';
  /** One sentence for the person who is on call. */
  readonly summary: string;
  /** The page in docs/runbooks/alerts, which has a section with the name of the rule. */
  readonly page: string;
  /** The longest range in the expression: after a fault, the rule clears later by this time. */
  readonly windowMinutes?: number;
  /** The age at the end of the expression, if the rule compares one. */
  readonly ageSeconds?: number;
  readonly test: {
    readonly series: Readonly<Record<string, TestSeries>>;
    /** Labels of the alert without those of the rule. */
    readonly labels?: Readonly<Record<string, string>>;
  };
}

export const level = (normal: number, fault: number, almost: number): TestSeries => ({
  kind: 'gauge',
  normal,
  fault,
  almost,
});

/** The increase per minute. */
export const perMinute = (normal: number, fault: number, almost: number): TestSeries => ({
  kind: 'counter',
  normal,
  fault,
  almost,
});

export const always = (value: number): TestSeries => level(value, value, value);
