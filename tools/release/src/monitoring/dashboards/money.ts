import { rateBy, stat, timeseries, type Dashboard } from './dashboard.ts';

const toUsd = (expr: string): string => `${expr} / 1e9`;

export const moneyDashboard: Dashboard = {
  name: 'money',
  title: 'money',
  panels: [
    stat(
      'Findings of the auditor',
      'short',
      { findings: 'sum(max by (check) (millrace_audit_findings))' },
      'Rows that contradict each other. Must be 0.',
    ),
    stat(
      'Last clean audit',
      's',
      { age: 'min(millrace_audit_clean_age_seconds)' },
      'Time since an audit found no drift.',
    ),
    stat(
      'Leased credit',
      'currencyUSD',
      { leased: toUsd('max(millrace_credit_leased_nano_usd)') },
      'Credit that gateways may spend and that is not settled.',
    ),
    stat(
      'Absorbed by the operator',
      'currencyUSD',
      { absorbed: toUsd('max(millrace_operator_absorbed_nano_usd)') },
      'Total in live mode.',
    ),
    timeseries(
      'Absorbed within an hour',
      'currencyUSD',
      {
        absorbed: toUsd(
          '(max(millrace_operator_absorbed_nano_usd) - min(min_over_time(millrace_operator_absorbed_nano_usd[1h])))',
        ),
      },
      'Amounts that tenants used and that could not be charged to them.',
    ),
    timeseries(
      'Unsettled usage',
      'short',
      {
        'events that are not charged': 'max(millrace_usage_unsettled_events)',
        'messages that are not processed': 'max(millrace_usage_sink_behind)',
      },
      'Both fall to about 0 while workers run.',
    ),
    timeseries(
      'Usage stream',
      'percentunit',
      { filled: 'max(millrace_usage_stream_filled_ratio)' },
      'Gateways refuse requests when the stream is full.',
    ),
    timeseries(
      'Processed usage',
      'ops',
      {
        'events stored by gateways': 'sum(rate(millrace_usage_events_total{outcome="stored"}[5m]))',
        'messages processed by workers': 'sum(rate(millrace_usage_messages_total[5m]))',
        'requests {{outcome}}': rateBy('millrace_usage_recorded_total', 'outcome'),
      },
      'A message has several events.',
    ),
    timeseries(
      'Charged per hour',
      'currencyUSD',
      { inference: toUsd('sum(rate(millrace_usage_charged_nano_usd_total[5m])) * 3600') },
      'Charges for inference at the rate of the last five minutes.',
    ),
    timeseries(
      'Credit leases',
      'short',
      { '{{state}}': 'max by (state) (millrace_credit_leases)' },
      'Closing leases wait for the end of their lease holders.',
    ),
    timeseries(
      'Meters',
      'ops',
      {
        posted: 'sum(rate(millrace_metering_postings_total[5m]))',
        refused: 'sum(rate(millrace_metering_refused_total[5m]))',
        'beyond the balance': 'sum(rate(millrace_metering_shortfalls_total[5m]))',
      },
      'Postings of rentals, volumes and instances. No meter may be refused.',
    ),
    timeseries(
      'Payments and invoices',
      'ops',
      {
        'payment reports {{outcome}}': rateBy('millrace_payment_reports_total', 'outcome'),
        'invoice failures': 'sum(rate(millrace_invoice_failures_total[5m]))',
      },
      'Reports of the payment provider, and invoices that are retried.',
    ),
  ],
};
