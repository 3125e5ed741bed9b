package cemalloc;

/** What HMSDK's class for Java does: it loads libcemallocjava.so, and enables the indicator. */
public class Cemalloc {
  public enum MemoryMode { HOST, CXL }

  static {
    System.loadLibrary("cemallocjava");
  }

  private native void EnableExplicitIndicator_();
  private native void SetHostMemory_();
  private native void SetCxlMemory_();
  private native int GetMemoryMode_();

  public Cemalloc() { EnableExplicitIndicator_(); }
  public void SetHostMemory() { SetHostMemory_(); }
  public void SetCxlMemory() { SetCxlMemory_(); }
  public MemoryMode GetMemoryMode() { return MemoryMode.values()[GetMemoryMode_()]; }
}
