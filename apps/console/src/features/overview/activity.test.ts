import { describe, expect, it } from 'vitest';
import { activityOf, type Event } from './activity.ts';

const event = (type: string, data: object): Event => ({ id: type, type, data }) as unknown as Event;

describe('activityOf', () => {
  it('names the resource and links to it', () => {
    expect(activityOf(event('rental.running', { rentalId: 7, name: 'train' }))).toEqual({
      text: 'train is running',
      to: '/rentals/7',
    });
    expect(activityOf(event('volume.restore_failed', { storageVolumeId: 4, label: 'data' }))).toEqual({
      text: 'Volume data was not restored',
      to: '/volumes/4',
    });
    expect(activityOf(event('instance.offline', { instanceId: 'a/b' })).to).toBe('/instances/a%2Fb');
  });

  it('shows exact amounts', () => {
    expect(activityOf(event('balance.topped_up', { amountNanoUsd: '25000000000' })).text).toBe(
      '$25.00 was added to the balance',
    );
  });

  it('uses the description of other types, and the name of an unknown one', () => {
    expect(activityOf(event('balance.low', {})).text).toBe('At the current rate, the balance ends soon');
    expect(activityOf(event('quota.changed', {}))).toEqual({ text: 'quota.changed', to: null });
  });
});
