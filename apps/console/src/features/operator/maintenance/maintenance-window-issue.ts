/** What is still missing before maintenance can be announced; false where nothing is. */
export function maintenanceWindowIssue({
  startsAt,
  endsAt,
  summary,
}: {
  readonly startsAt: string | null | undefined;
  readonly endsAt: string | null | undefined;
  readonly summary: string;
}): string | false {
  if (startsAt == null || endsAt == null) return 'Say when it begins and ends.';
  if (endsAt <= startsAt) return 'It must end after it begins.';
  return summary.trim().length < 3 && 'Say what tenants are told.';
}
