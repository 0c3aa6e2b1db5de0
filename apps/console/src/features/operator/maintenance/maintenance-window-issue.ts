/** Validation message for a new window; false if valid. */
export function maintenanceWindowIssue({
  startsAt,
  endsAt,
  summary,
}: {
  readonly startsAt: string | null | undefined;
  readonly endsAt: string | null | undefined;
  readonly summary: string;
}): string | false {
  if (startsAt == null || endsAt == null) return 'Enter when the maintenance starts and ends.';
  if (endsAt <= startsAt) return 'The end must be after the start.';
  return summary.trim().length < 3 && 'Enter a message for tenants.';
}
